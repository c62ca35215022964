// Says on a terminal what a compile that takes long is doing.
#pragma once

#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace p3d {

/// From `patience` on shows the current step and the seconds since the start on one line of `os`, which it takes away at
/// the end. Nothing is written to what is no terminal. The stream must not be written by others meanwhile without a
/// new line.
class Progress {
public:
  Progress(llvm::raw_ostream &os, bool isTerminal, std::chrono::milliseconds patience = std::chrono::seconds(2));
  ~Progress() { finish(); }
  /// Begins a step, "lower (9 of 9)".
  void enter(std::string step);
  /// Takes the line away; for what is printed where it stands.
  void finish();

private:
  void show(std::chrono::milliseconds patience);

  llvm::raw_ostream &os;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  std::string step;
  bool isDone = false;
  std::thread thread; ///< none where there is no terminal
};

} // namespace p3d
