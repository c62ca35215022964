// A program that grows operation by operation, each evaluated at once, so that only well-conditioned ones stay.
//
// Every value carries its elements and which of its dimensions is the batch. An operation is taken back if it would make numbers that are too large or that lie
// where the operation jumps (floor near an integer, a maximum of near equals), and on meshes that cut the batch if it would not work on its parts.
#pragma once

#include "Random.h"
#include "dialects/Graph/FactorRules.h"
#include "dialects/Graph/Interpreter.h"
#include "mlir/IR/Builders.h"
#include <deque>

namespace p3d::fuzz {

// On an argument: the bounds of its elements and the seed that chooses them.
inline constexpr llvm::StringLiteral kRangeAttr = "fuzz.range";
inline constexpr llvm::StringLiteral kSeedAttr = "fuzz.seed";

/// The elements of every argument of `program`, from its range and seed.
graph::Tensors inputsOf(graph::ProgramOp program);

struct Item {
  mlir::Value value;
  graph::Tensor tensor;
  /// For each dimension whether it is the batch.
  llvm::SmallVector<bool> batch;
  /// Whether it depends on a parameter, and on an input.
  bool isActive = false, isFromInput = false;

  mlir::RankedTensorType type() const { return graph::tensorType(value); }
  mlir::Type element() const { return type().getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  bool isFloat() const { return tensor.isFloat(); }
  bool isBool() const { return element().isInteger(1); }
  bool isInt() const { return !isFloat() && !isBool(); }
  bool hasBatch() const { return llvm::is_contained(batch, true); }
  double magnitude() const;
};

/// What a mesh demands of a program.
struct BatchRules {
  bool isCut = false;         ///< the batch is cut: operations work on its parts
  bool sumsAnywhere = true;   ///< what depends on parameters may be reduced over the batch before the loss
  int64_t size = 1;
};

class ProgramBuilder {
public:
  ProgramBuilder(mlir::ModuleOp module, Random &random, BatchRules rules);

  // Leaves. Shapes of inputs begin with the batch if `startsWithBatch`.
  Item *parameter(llvm::ArrayRef<int64_t> shape, mlir::Type element, double low = -1.5, double high = 1.5);
  Item *input(llvm::ArrayRef<int64_t> shape, mlir::Type element, double low, double high, bool startsWithBatch, llvm::StringRef role = "input");
  Item *splat(llvm::ArrayRef<int64_t> shape, mlir::Type element, double value, llvm::ArrayRef<bool> batch = {});
  Item *denseConstant(llvm::ArrayRef<int64_t> shape, mlir::Type element, double low, double high);

  /// Creates an operation of `results`; its results, of which the first `kept` join the pool, or null if it has to go. `batch` says which dimensions of the results are the batch
  /// where no operand does.
  template <typename OpTy, typename... Args> Item *create(mlir::TypeRange results, llvm::ArrayRef<bool> batch, unsigned kept, Args &&...args) {
    return admit(builder.create<OpTy>(nextLocation(), results, std::forward<Args>(args)...), batch, kept);
  }
  template <typename OpTy, typename... Args> Item *make(mlir::Type result, Args &&...args) {
    return create<OpTy>(mlir::TypeRange(result), {}, 1, std::forward<Args>(args)...);
  }
  Item *unary(llvm::StringRef op, Item *x);
  Item *binary(llvm::StringRef op, Item *x, Item *y);
  Item *scale(Item *x, double factor) { return binary("graph.mul", x, splat(x->shape(), x->element(), factor, x->batch)); }
  Item *shift(Item *x, double by) { return binary("graph.add", x, splat(x->shape(), x->element(), by, x->batch)); }
  Item *broadcast(Item *x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<bool> batch);
  Item *convert(Item *x, mlir::Type element);
  /// A copy of `op` on other operands.
  Item *clone(mlir::Operation *op, mlir::IRMapping &map);

  // Choices.
  Item *pick(llvm::function_ref<bool(const Item &)> fits);
  Item *anyFloat(int64_t minRank = 0);
  /// Of the type and batch of `x`; may be `x`.
  Item *like(Item *x);
  /// Elements of at least a quarter; of at most `limit` in size; or made so.
  Item *positive(Item *x);
  Item *bounded(Item *x, double limit);
  /// Integers in [0, n) of the shape.
  Item *ids(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<bool> batch, int64_t n);
  int64_t size() { return random.pick({1, 2, 3, 4, 5, 6, 7, 8, 9, 12}); }

  Item *find(mlir::Value value);
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape, mlir::Type element) { return mlir::RankedTensorType::get(shape, element); }
  mlir::Type statisticType(Item *x) { return x->element().isF64() ? x->element() : f32(); }

  /// What follows is the loss, which is reduced over the batch on every mesh.
  void allowLossSums() { areLossSums = true; }
  /// Ends the program: `results` are the loss and metrics. Unused operations go.
  void finish(llvm::ArrayRef<Item *> results);

  Random &random;
  mlir::OpBuilder builder;
  graph::ProgramOp program;
  BatchRules rules;
  std::deque<Item> items;  ///< all that were made
  std::vector<Item *> pool; ///< those that operations may take

private:
  Item *argument(llvm::ArrayRef<int64_t> shape, mlir::Type element, double low, double high, llvm::StringRef role, llvm::StringRef name);
  Item *admit(mlir::Operation *op, llvm::ArrayRef<bool> batch, unsigned kept);
  Item *leafLike(Item *x);
  mlir::Location nextLocation() { return builder.getUnknownLoc(); }

  int64_t parameters = 0, inputs = 0;
  bool areLossSums = false;
};

} // namespace p3d::fuzz
