#include "passes/Import/RepeatedRuns.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace p3d::import;

namespace {

/// For each segment a number that equal ones have in common.
using Keys = std::vector<unsigned>;
using Layers = SmallVector<std::pair<size_t, size_t>>;

/// Segments [begin, end) repeat with the period; `end - begin` need not be a multiple of it.
struct Run {
  size_t begin = 0, end = 0, period = 0;
  size_t layers() const { return period ? (end - begin) / period : 0; }
  size_t leftover() const { return (end - begin) % period; }
};

class RunFinder {
public:
  explicit RunFinder(ArrayRef<Segment> segments)
      : segments(segments), exact(number(&Segment::exact)), alike(number(&Segment::alike)) {
    for (const Segment &segment : segments) {
      parametersBefore.push_back(parametersBefore.back() + segment.parameters.size());
      contractionsBefore.push_back(contractionsBefore.back() + segment.contractions);
    }
  }

  Layers find() {
    search(0, segments.size());
    llvm::sort(layers);
    return layers;
  }

private:
  Keys number(hash_code Segment::*key) const {
    DenseMap<size_t, unsigned> numbers;
    Keys keys;
    for (const Segment &segment : segments)
      keys.push_back(numbers.try_emplace(segment.*key, numbers.size()).first->second);
    return keys;
  }

  /// The distances between equal segments of [begin, end): no other period makes a run.
  static BitVector distances(const Keys &keys, size_t begin, size_t end) {
    BitVector found(end - begin);
    std::vector<SmallVector<size_t>> places(keys.size());
    for (size_t i = begin; i < end; ++i) {
      for (size_t before : places[keys[i]])
        found.set(i - before);
      places[keys[i]].push_back(i);
    }
    return found;
  }

  size_t operations(size_t first, size_t count) const { return segments[first + count - 1].end - segments[first].begin; }

  bool multiplies(size_t first, size_t count) const {
    return contractionsBefore[first + count] > contractionsBefore[first];
  }
  size_t parameters(size_t first, size_t count) const { return parametersBefore[first + count] - parametersBefore[first]; }

  /// Whether the segments behind the last whole period of `run` are one more layer: they lack nothing that has a parameter.
  bool endsInLayer(const Run &run, size_t start) const {
    size_t rest = run.end - start - (run.end - start) / run.period * run.period;
    return rest > 0 && start + run.period <= run.end && parameters(run.end - rest, rest) == parameters(start, run.period);
  }

  size_t coverage(const Run &run) const {
    size_t whole = run.layers() * run.period;
    if (whole == 0)
      return 0;
    if (run.layers() < 2 && !endsInLayer(run, run.begin))
      return 0;
    return endsInLayer(run, run.begin) ? operations(run.begin, run.end - run.begin) : operations(run.begin, whole);
  }

  /// The longest run of segments in [begin, end); of equal ones that of the shortest period.
  Run longest(size_t begin, size_t end) const {
    Run best;
    size_t covered = 0;
    for (const Keys *keys : {&exact, &alike})
      for (size_t period : distances(*keys, begin, end).set_bits())
        for (size_t i = begin; i + period < end;) {
          size_t stop = i;
          while (stop + period < end && (*keys)[stop] == (*keys)[stop + period])
            ++stop;
          Run run{i, stop + period, period};
          if (stop > i && coverage(run) > covered && multiplies(i, period)) {
            best = run;
            covered = coverage(run);
          }
          i = stop + 1;
        }
    return best;
  }

  /// Components that all names have in common at their beginning.
  static size_t commonComponents(ArrayRef<StringRef> names) {
    size_t common = StringRef::npos;
    for (StringRef name : names) {
      SmallVector<StringRef> a, b;
      name.split(a, '.');
      names.front().split(b, '.');
      size_t n = 0;
      while (n < a.size() && n < b.size() && a[n] == b[n])
        ++n;
      common = std::min(common, n);
    }
    return names.empty() ? 0 : common;
  }

  /// Where in the run its first layer starts: where most layers have parameters of one name.
  size_t start(const Run &run) const {
    SmallVector<StringRef> all;
    for (const Segment &segment : segments.slice(run.begin, run.end - run.begin))
      append_range(all, segment.parameters);
    size_t common = commonComponents(all), best = run.begin, bestScore = 0;
    for (size_t shift = 0; shift <= run.leftover() && shift < run.period; ++shift) {
      size_t score = 0;
      for (size_t first = run.begin + shift; first + run.period <= run.end; first += run.period) {
        SmallVector<StringRef> names;
        for (const Segment &segment : segments.slice(first, run.period))
          append_range(names, segment.parameters);
        score += names.size() > 1 && commonComponents(names) > common;
      }
      if (score > bestScore) {
        bestScore = score;
        best = run.begin + shift;
      }
    }
    return best;
  }

  void search(size_t begin, size_t end) {
    if (end - begin < 2)
      return;
    Run run = longest(begin, end);
    if (run.layers() == 0)
      return;
    size_t size = operations(run.begin, run.period);
    // A head of two dense layers is no pair of layers beside a transformer's.
    constexpr size_t kComparable = 4;
    if (size * kComparable < periodOperations)
      return;
    periodOperations = std::max(periodOperations, size);
    size_t first = start(run), next = first;
    for (; next + run.period <= run.end; next += run.period)
      layers.push_back({next, run.period});
    if (endsInLayer(run, first)) {
      layers.push_back({next, run.end - next});
      next = run.end;
    }
    searchAround(run, first, begin, first);
    searchAround(run, first, next, end);
  }

  /// Single occurrences of the run's period in [begin, end), then other runs between them.
  void searchAround(const Run &run, size_t first, size_t begin, size_t end) {
    size_t done = begin;
    for (size_t i = begin; i + run.period <= end;) {
      bool occurs = llvm::all_of(llvm::seq<size_t>(0, run.period), [&](size_t k) {
        return exact[i + k] == exact[first + k];
      });
      if (!occurs) {
        ++i;
        continue;
      }
      search(done, i);
      layers.push_back({i, run.period});
      done = i += run.period;
    }
    search(done, end);
  }

  ArrayRef<Segment> segments;
  Keys exact, alike;
  std::vector<size_t> parametersBefore{0}, contractionsBefore{0}; ///< each segment, and in all
  Layers layers;
  size_t periodOperations = 0;
};

} // namespace

Layers p3d::import::findLayers(ArrayRef<Segment> segments) { return RunFinder(segments).find(); }
