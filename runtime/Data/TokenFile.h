// Files of little-endian tokens, cut into windows of s tokens (and the one that follows them): raw ones of 32 or 16 bits, and those with the header of llm.c
// (https://github.com/karpathy/llm.c: 256 int32, of which the first are magic, version and the count of tokens).
#pragma once
#include "runtime/Data/Batch.h"
#include "runtime/Data/DataMap.h"
#include "runtime/Data/MappedFile.h"

namespace p3d {

class TokenFile : public BatchSource {
public:
  TokenFile(const std::string &path, const DataOptions &options);
  void check(const Program &program) override;
  void fill(const Input &input, const Program &program, Coordinates at,
            int64_t step, char *storage) override;
  bool fillKey(const Param &, char *) override { return false; }
  int64_t batches(const Program &program) const override;

private:
  void readHeader();
  uint32_t token(int64_t index) const;
  int64_t windows(int64_t sequence) const { return (count - 1) / sequence; }
  /// Start in the file of row `row` of `step`.
  int64_t windowStart(const Program &program, int64_t sequence, int64_t step,
                      int64_t row) const;

  DataOptions options;
  DataMap map;
  MappedFile file;
  int64_t start = 0, count = 0; ///< bytes before the tokens, and their number
  int bytes = 4;                ///< of a token
};

} // namespace p3d
