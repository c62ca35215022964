#include "passes/Memory/Slabs.h"
#include "passes/Memory/StepLives.h"
#include "passes/Memory/Views.h"
#include <map>
#include <set>

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// In so many pieces what follows in time takes nearly all bytes of what goes before; of all lives there are no more than a packing, which takes quadratic time, does at once.
constexpr int64_t kMostPieces = 16, kMostLives = 1 << 12;

int64_t alignUp(int64_t bytes) { return llvm::alignTo(bytes, exec::kAlignment); }

/// What activations of one slab have in common: the chunk whose tasks send them, and the numbers of the tasks that touch them.
struct Use {
  std::optional<int64_t> sends;
  std::set<unsigned> tasks;

  bool operator<(const Use &other) const { return std::tie(sends, tasks) < std::tie(other.sends, other.tasks); }
};

struct Slab {
  Use use;
  SmallVector<exec::BufferOp> buffers;
  int64_t bytes = 0;
  SmallVector<LiveInterval> lives = {}; ///< of each microbatch, by the numbers of the operations of a step
};

class SlabMaker {
public:
  explicit SlabMaker(exec::ProgramOp program) : program(program), symbols(program), steps(exec::stepsOf(program)) {
    for (auto [number, task] : llvm::enumerate(program.getOps<exec::TaskOp>())) {
      numbers[task] = number;
      tasks.push_back(task);
      uses.push_back(usesIn(task, symbols));
    }
  }

  SmallVector<Slab> make() {
    SmallVector<Slab> slabs;
    for (auto &[use, buffers] : group())
      llvm::append_range(slabs, split(use, buffers));
    for (Slab &slab : slabs) {
      for (exec::BufferOp buffer : slab.buffers) {
        buffer.setOffset(slab.bytes);
        slab.bytes = alignUp(slab.bytes + exec::bytesOf(buffer.getMemory()));
      }
      measure(slab);
    }
    return slabs;
  }

private:
  using Groups = std::map<Use, SmallVector<exec::BufferOp>>;

  /// What the same tasks touch; what nothing touches is a group too.
  const Groups &group() {
    llvm::MapVector<exec::BufferOp, Use> usesOf;
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == pipe::BufferKind::Activation)
        usesOf[buffer];
    for (auto [number, touched] : llvm::enumerate(uses))
      for (auto &[buffer, use] : touched)
        if (auto *found = usesOf.find(buffer); found != usesOf.end())
          found->second.tasks.insert(number);
    for (exec::TaskOp task : tasks)
      for (auto send : task.getBody().front().getOps<exec::SendOp>())
        if (auto address = rootOf(send->getOperand(0)).getDefiningOp<exec::AddressOp>())
          if (auto *found = usesOf.find(symbols.lookup<exec::BufferOp>(address.getBuffer())); found != usesOf.end())
            found->second.sends = task.getChunk();
    for (auto &[buffer, use] : usesOf)
      groups[use].push_back(buffer);
    return groups;
  }

  /// The first and the last of some tasks of a microbatch, by their numbers.
  std::pair<unsigned, unsigned> endsOf(const std::set<unsigned> &some) {
    std::optional<unsigned> first;
    unsigned last = 0;
    for (exec::Step step : steps)
      if (unsigned number = numbers[step.task]; step.microbatch == 0 && some.count(number)) {
        first = first.value_or(number);
        last = number;
      }
    return {first.value_or(last), last};
  }

  /// Where some activations end in the task in which others begin, both go in pieces: one after the other the later take the bytes of the earlier.
  SmallVector<Slab> split(const Use &use, SmallVector<exec::BufferOp> buffers) {
    auto [first, last] = endsOf(use.tasks);
    bool takes = false, gives = false;
    for (auto &[other, unused] : groups)
      if (!other.sends && !use.sends) {
        takes |= endsOf(other.tasks).second == first && endsOf(other.tasks).first != first;
        gives |= endsOf(other.tasks).first == last && endsOf(other.tasks).second != last;
      }
    int64_t microbatches = 0;
    for (exec::Step step : steps)
      microbatches = std::max(microbatches, step.microbatch + 1);
    int64_t most = std::min(kMostPieces, kMostLives / std::max<int64_t>(1, microbatches * int64_t(groups.size())));
    if (most < 2 || first == last || !(takes || gives))
      return {Slab{use, std::move(buffers)}};
    int64_t bytes = 0;
    for (exec::BufferOp buffer : buffers)
      bytes += exec::bytesOf(buffer.getMemory());
    unsigned task = gives ? last : first;
    auto timeOf = [&](exec::BufferOp buffer) {
      const LiveInterval &use = uses[task].find(buffer)->second;
      return gives ? use.last : use.first;
    };
    llvm::stable_sort(buffers, [&](exec::BufferOp a, exec::BufferOp b) { return timeOf(a) < timeOf(b); });
    SmallVector<Slab> pieces;
    int64_t filled = 0;
    for (exec::BufferOp buffer : buffers) {
      if (pieces.empty() || filled * most >= bytes * int64_t(pieces.size()))
        pieces.push_back(Slab{use, {}});
      pieces.back().buffers.push_back(buffer);
      filled += exec::bytesOf(buffer.getMemory());
    }
    return pieces;
  }

  void measure(Slab &slab) {
    std::map<unsigned, LiveInterval> inTask; // by the task's number
    for (unsigned number : slab.use.tasks)
      for (exec::BufferOp buffer : slab.buffers) {
        const LiveInterval &use = uses[number].find(buffer)->second;
        LiveInterval &all = inTask.try_emplace(number, use).first->second;
        all.first = std::min(all.first, use.first);
        all.last = std::max(all.last, use.last);
      }
    int64_t start = 0;
    for (exec::Step step : steps) {
      if (auto use = inTask.find(numbers[step.task]); use != inTask.end()) {
        if (int64_t(slab.lives.size()) <= step.microbatch)
          slab.lives.resize(step.microbatch + 1, {0, 0, 0});
        LiveInterval &life = slab.lives[step.microbatch];
        if (!std::exchange(life.bytes, slab.bytes))
          life.first = start + use->second.first;
        life.last = start + use->second.last;
      }
      start += step.task.getBody().front().getOperations().size();
    }
  }

  exec::ProgramOp program;
  const SymbolTable symbols;
  SmallVector<exec::Step> steps;
  DenseMap<Operation *, unsigned> numbers;
  SmallVector<exec::TaskOp> tasks; ///< by their numbers
  SmallVector<BufferUses> uses;
  Groups groups;
};

/// The shortest list that says, read over and over, what all of them are.
ArrayRef<int64_t> firstPeriod(ArrayRef<int64_t> places) {
  for (size_t period = 1; period < places.size(); ++period)
    if (places.drop_front(period) == places.drop_back(period))
      return places.take_front(period);
  return places;
}

/// When the most bytes of all slabs are alive.
int64_t fullestTime(ArrayRef<LiveInterval> lives) {
  std::map<int64_t, int64_t> changes;
  for (const LiveInterval &life : lives) {
    changes[life.first] += life.bytes;
    changes[life.last + 1] -= life.bytes;
  }
  int64_t alive = 0, most = 0, fullest = 0;
  for (auto [time, bytes] : changes)
    if ((alive += bytes) > most) {
      most = alive;
      fullest = time;
    }
  return fullest;
}

std::string nameOf(const Slab &slab, exec::ProgramOp program) {
  std::string name = slab.use.sends ? "sent" : "kept";
  for (auto [number, task] : llvm::enumerate(program.getOps<exec::TaskOp>()))
    if (slab.use.tasks.count(number))
      name += "_" + exec::nameOf(task);
  return name;
}

class SlabPlacer {
public:
  SlabPlacer(exec::ProgramOp program, int64_t begin) : program(program), symbols(program), end(begin) {}

  void placeSent(const Slab &slab) {
    SmallVector<int64_t> slots;
    for (int64_t i = 0; i < program.getSlots()[*slab.use.sends]; ++i)
      slots.push_back(std::exchange(end, end + slab.bytes));
    create(slab, slots, slots.size());
  }

  void placeKept(ArrayRef<Slab> slabs) {
    SmallVector<LiveInterval> lives;
    for (const Slab &slab : slabs)
      llvm::append_range(lives, slab.lives);
    Packing packing = packIntervals(lives, exec::kAlignment);
    for (int64_t &offset : packing.offsets)
      offset += end;
    int64_t time = fullestTime(lives);
    ArrayRef<int64_t> offsets = packing.offsets;
    for (const Slab &slab : slabs) {
      ArrayRef<int64_t> places = offsets.take_front(slab.lives.size());
      offsets = offsets.drop_front(places.size());
      auto copies = llvm::count_if(slab.lives, [&](const LiveInterval &life) { return life.first <= time && time <= life.last; });
      create(slab, places.empty() ? ArrayRef(end) : firstPeriod(places), copies);
    }
    end += packing.bytes;
  }

  int64_t getEnd() const { return end; }

private:
  void create(const Slab &slab, ArrayRef<int64_t> places, int64_t copies) {
    exec::BufferOp first = slab.buffers.front();
    OpBuilder builder(first);
    auto sends = slab.use.sends ? builder.getI64IntegerAttr(*slab.use.sends) : IntegerAttr();
    auto made = builder.create<exec::SlabOp>(first.getLoc(), builder.getStringAttr(nameOf(slab, program)), builder.getI64IntegerAttr(slab.bytes),
                                             builder.getDenseI64ArrayAttr(places), builder.getI64IntegerAttr(copies), sends);
    symbols.insert(made);
    for (exec::BufferOp buffer : slab.buffers)
      buffer.setSlabAttr(FlatSymbolRefAttr::get(made.getSymNameAttr()));
  }

  exec::ProgramOp program;
  SymbolTable symbols;
  int64_t end;
};
} // namespace

int64_t p3d::memory::placeActivations(exec::ProgramOp program, int64_t begin) {
  SmallVector<Slab> slabs = SlabMaker(program).make();
  SlabPlacer placer(program, begin);
  auto *firstKept = std::stable_partition(slabs.begin(), slabs.end(), [](const Slab &slab) { return slab.use.sends.has_value(); });
  for (const Slab &slab : llvm::make_range(slabs.begin(), firstKept))
    placer.placeSent(slab);
  placer.placeKept(ArrayRef<Slab>(firstKept, slabs.end()));
  return placer.getEnd();
}
