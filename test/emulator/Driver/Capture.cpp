#include "test/emulator/Driver/Capture.h"
#include "test/emulator/Driver/Stream.h"

namespace p3d::emulator {

static void joinPositions(std::vector<size_t> &into, const std::vector<size_t> &other) {
  into.resize(std::max(into.size(), other.size()));
  for (size_t i = 0; i < other.size(); ++i)
    into[i] = std::max(into[i], other[i]);
}

void Capture::join(Stream *stream) {
  stream->capture = this;
  stream->branch = branchCount++;
  branches.push_back(stream);
  positions.emplace_back(branchCount);
}

void Capture::step(unsigned branch) { ++positions[branch][branch]; }

void Capture::run(unsigned branch, Command command) {
  step(branch);
  ops.push_back({CaptureOp::Run, branch, std::move(command), 0});
}

size_t Capture::record(unsigned branch) {
  records.push_back(positions[branch]);
  ops.push_back({CaptureOp::Record, branch, {}, records.size() - 1});
  return records.size() - 1;
}

void Capture::wait(unsigned branch, size_t record) {
  joinPositions(positions[branch], records[record]);
  ops.push_back({CaptureOp::Wait, branch, {}, record});
}

bool Capture::finish() {
  bool isJoined = true;
  for (size_t branch = 1; branch < branchCount; ++branch)
    isJoined &= branch < positions[0].size() ? positions[0][branch] >= positions[branch][branch]
                                             : positions[branch][branch] == 0;
  for (Stream *stream : branches)
    stream->capture = nullptr;
  branches.clear();
  return isJoined;
}

} // namespace p3d::emulator
