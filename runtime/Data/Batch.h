// Where the inputs of each step come from: one safetensors batch that is used
// again each step, or windows of a token file.
#pragma once
#include "runtime/Program/Program.h"
#include <memory>

namespace p3d {

enum class TokenType { Header, I32, U16 };
enum class DataOrder { Shuffled, File };

/// How a file of tokens is read.
struct DataOptions {
  TokenType type = TokenType::Header; ///< as a header says, without one i32
  DataOrder order = DataOrder::File;
  uint64_t seed = 0; ///< of the shuffling
  std::string map = {}; ///< parseDataMap

  /// For a file whose windows come as they stand.
  DataOptions inOrder() const { return {type, DataOrder::File, 0, map}; }
};

class BatchSource {
public:
  virtual ~BatchSource() = default;
  /// A user error unless every input of `program` can be filled with values in
  /// its range. Reads all data, so the launcher calls it, once.
  virtual void check(const Program &program) = 0;
  /// Writes the rows of an input of the replica at `at` for `step` (from 1).
  virtual void fill(const Input &input, const Program &program, Coordinates at,
                    int64_t step, char *storage) = 0;
  /// How many whole batches there are before one comes again; as far as
  /// `program` can tell, INT64_MAX if not at all.
  virtual int64_t batches(const Program &program) const = 0;
  /// Writes the random key `key` if the data has it.
  virtual bool fillKey(const Param &key, char *storage) = 0;
};

/// By its name; an empty one is none.
bool isTokenFile(const std::string &path);

/// Opens `path` by its name: *.safetensors is a batch, anything else a file of
/// tokens. An empty path gives a source for programs without inputs.
std::unique_ptr<BatchSource> openBatchSource(const std::string &path,
                                             const DataOptions &options);

/// A user error that says that `value`, element `element` of `input` in `where`, lies outside its limit.
[[noreturn]] void refuseIndex(const Input &input, int64_t value,
                              int64_t element, const std::string &where);

/// Checks that the values of an index input lie in [-limit, limit); `count`
/// values at `data`, the first of which is element `first` of `where`.
void checkIndices(const Input &input, const char *data, int64_t count,
                  int64_t first, const std::string &where);

} // namespace p3d
