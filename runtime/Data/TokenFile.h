// A file of little-endian int32 tokens, read in consecutive windows: row r of
// step t starts at token ((t-1)*batch + r) * s; when the file is used up, at the
// front again.
#pragma once
#include "runtime/Data/Batch.h"
#include "runtime/Data/MappedFile.h"

namespace p3d {

class TokenFile : public BatchSource {
public:
  explicit TokenFile(const std::string &path);
  void check(const Program &program) override;
  void fill(const Input &input, const Program &program, Coordinates at,
            int64_t step, char *storage) override;
  bool fillKey(const Param &, char *) override { return false; }

private:
  /// Start in the file of row `row` of `step`.
  int64_t windowStart(const Program &program, int64_t sequence, int64_t step,
                      int64_t row) const;
  int64_t tokens() const { return file.size() / 4; }
  MappedFile file;
};

} // namespace p3d
