#!/bin/sh
# A tool of a toolkit that does not work.
echo no device code today
exit 1
