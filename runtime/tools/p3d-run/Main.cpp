// p3d-run: all ranks of a program, or those of this host.
#include "runtime/tools/p3d-run/Launch.h"

int main(int argc, char **argv) { return p3d::launchHere(std::vector<std::string>(argv + 1, argv + argc)); }
