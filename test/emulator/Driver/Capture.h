// A captured graph: the operations of the captured streams (branches) in the order in which the host made them.
#pragma once
#include "test/emulator/Driver/Command.h"
#include <vector>

namespace p3d::emulator {

class Stream;

struct CaptureOp {
  enum Kind { Run, Record, Wait } kind;
  unsigned branch;
  Command command; ///< of Run
  size_t record;   ///< of Record and Wait
};

class Capture {
public:
  /// Adds a stream as a further branch.
  void join(Stream *stream);
  void run(unsigned branch, Command command);
  /// The number of the record.
  size_t record(unsigned branch);
  void wait(unsigned branch, size_t record);
  /// Ends the capture of all branches; false if branch 0 has not waited for the end of each other.
  bool finish();

  std::vector<CaptureOp> ops;
  std::vector<Stream *> branches; ///< empty once it is finished
  size_t branchCount = 0;

private:
  using Position = std::vector<size_t>; // of each branch, how many operations come before
  void step(unsigned branch);
  std::vector<Position> positions, records;
};

} // namespace p3d::emulator
