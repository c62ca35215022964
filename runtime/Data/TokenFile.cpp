// How a token file feeds inputs by their name.
#include "runtime/Data/TokenFile.h"
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Random.h"
#include <cstring>
#include <functional>

namespace p3d {
TokenFile::TokenFile(const std::string &path, const DataOptions &options)
    : options(options), map(parseDataMap(options.map)), file(path) {
  readHeader();
  int64_t tokenBytes = file.size() - start;
  if (count == 0) {
    bytes = options.type == TokenType::U16 ? 2 : 4;
    if (tokenBytes % bytes != 0)
      userError("{}: {} bytes are no whole number of {} tokens", path,
                tokenBytes, bytes == 2 ? "u16" : "int32");
    count = tokenBytes / bytes;
  }
}

void TokenFile::readHeader() {
  // gpt-2: tokens of 16 bits; llama-3: of 32.
  constexpr struct {
    int32_t magic, version;
    int bytes;
  } kinds[] = {{20240520, 1, 2}, {20240801, 7, 4}};
  int32_t header[256];
  if (file.size() < int64_t(sizeof(header)))
    return;
  std::memcpy(header, file.data(), sizeof(header));
  for (const auto &kind : kinds) {
    if (header[0] != kind.magic)
      continue;
    if (options.type != TokenType::Header)
      userError("{}: has a header, which says that its tokens have {} bits; "
                "leave --data-type out",
                file.name(), 8 * kind.bytes);
    if (header[1] != kind.version)
      userError("{}: field version at offset 4 is {}, expected {}",
                file.name(), header[1], kind.version);
    start = sizeof(header);
    bytes = kind.bytes;
    count = header[2];
    if (count <= 0 || count != (file.size() - start) / bytes ||
        (file.size() - start) % bytes != 0)
      userError("{}: field count at offset 8 says {} tokens of {} bits, and {} "
                "bytes follow the header; the file is damaged or cut short",
                file.name(), count, 8 * bytes, file.size() - start);
  }
}

uint32_t TokenFile::token(int64_t index) const {
  uint32_t value = 0;
  std::memcpy(&value, file.data() + start + index * bytes, size_t(bytes));
  return value;
}

/// Checks every token against what `input` indexes. As signed numbers, which
/// raw files of 32 bits hold. `place` says where a token stands.
static void checkTokens(const Input &input, int64_t count,
                        const std::function<uint32_t(int64_t)> &token,
                        const std::function<std::string(int64_t)> &place) {
  for (int64_t i = 0; i < count; ++i)
    if (int64_t value = int32_t(token(i));
        value < -input.indexLimit || value >= input.indexLimit)
      refuseIndex(input, value, i, place(i));
}

/// The largest and smallest of what is not read against what `input` indexes.
static void checkGenerated(const Input &input, const Feed &feed) {
  int64_t last = feed.kind == Feed::Kind::Range ? input.globalShape.back() - 1
                                                : int64_t(feed.value);
  if (input.indexLimit > 0 && (last < -input.indexLimit || last >= input.indexLimit))
    refuseIndex(input, last, feed.kind == Feed::Kind::Range ? last : 0, "--data-map");
}

void TokenFile::check(const Program &program) {
  for (const Input &input : program.inputs) {
    std::optional<Feed> feed = feedOf(input, map);
    if (!feed)
      userError("{}: a token file cannot fill {} ({}{}); it fills integer "
                "inputs [b, s] called tokens, input_ids, targets or labels, "
                "and float masks; say what it is with --data-map={}=x[0:s], "
                "x[1:s+1], range or a number, or give a safetensors batch "
                "instead",
                file.name(), input.name, info(input.dtype).name,
                shapeText(input.globalShape), input.name);
    if (feed->kind != Feed::Kind::Window) {
      checkGenerated(input, *feed);
      continue;
    }
    int64_t needed = input.globalShape[1] + 1;
    if (count < needed)
      userError("{}: has {} tokens, and a window of {} needs {}", file.name(),
                count, input.name, needed);
    if (input.indexLimit > 0)
      checkTokens(
          input, count, [this](int64_t i) { return token(i); },
          [this](int64_t i) {
            return fmt::format("{}: at offset {}", file.name(),
                               start + i * bytes);
          });
  }
}

/// The place of `index` in a permutation of [0, size) that `seed` and `epoch`
/// choose: a Feistel network on the smallest square that holds it, walked until
/// it comes back inside.
static int64_t permute(int64_t index, int64_t size, uint64_t seed,
                       int64_t epoch) {
  int half = 1;
  while ((int64_t(1) << 2 * half) < size)
    ++half;
  const uint32_t mask = uint32_t((uint64_t(1) << half) - 1);
  do {
    uint32_t left = uint32_t(index >> half), right = uint32_t(index) & mask;
    for (uint32_t round = 0; round < 4; ++round) {
      uint32_t mixed = philox({right, round, uint32_t(epoch), uint32_t(epoch >> 32)},
                              {uint32_t(seed), uint32_t(seed >> 32)})[0];
      uint32_t next = left ^ (mixed & mask);
      left = right;
      right = next;
    }
    index = int64_t(left) << half | right;
  } while (index >= size);
  return index;
}

int64_t TokenFile::windowStart(const Program &program, int64_t sequence,
                               int64_t step, int64_t row) const {
  int64_t total = windows(sequence);
  int64_t drawn = (step - 1) * program.globalBatch + row;
  int64_t window = drawn % total;
  if (options.order == DataOrder::Shuffled)
    window = permute(window, total, options.seed, drawn / total);
  return window * sequence;
}

int64_t TokenFile::batches(const Program &program) const {
  for (const Input &input : program.inputs)
    if (auto feed = feedOf(input, map); feed && feed->kind == Feed::Kind::Window)
      return windows(input.globalShape[1]) / program.globalBatch;
  return INT64_MAX;
}

static void storeNumber(p3d_dtype dtype, char *storage, int64_t index,
                        double value) {
  if (info(dtype).isFloat)
    return storeFloat(dtype, storage, index, value);
  int64_t whole = int64_t(value), size = info(dtype).bytes; // little endian: the low part
  std::memcpy(storage + index * size, &whole, size_t(size));
}

void TokenFile::fill(const Input &input, const Program &program, Coordinates at,
                     int64_t step, char *storage) {
  Layout layout = localLayout(input, program.mesh, at);
  Feed feed = *feedOf(input, map); // it is checked
  if (feed.kind != Feed::Kind::Window) {
    int64_t last = input.globalShape.empty() ? 1 : input.globalShape.back();
    for (int64_t i = 0; i < layout.storageCount(); ++i)
      storeNumber(input.dtype, storage, i, feed.kind == Feed::Kind::Range ? double(i % last) : feed.value);
    return;
  }
  int64_t sequence = input.globalShape[1];
  for (int64_t row = 0; row < layout.extent[0]; ++row) {
    int64_t from =
        windowStart(program, sequence, step, layout.start[0] + row) +
        feed.first;
    for (int64_t i = 0; i < sequence; ++i) {
      int64_t wide = int32_t(token(from + i));
      int64_t size = info(input.dtype).bytes; // little endian: the low part
      std::memcpy(storage + (row * sequence + i) * size, &wide, size_t(size));
    }
  }
}

} // namespace p3d
