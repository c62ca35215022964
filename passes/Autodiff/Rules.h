// The reverse rules: for each operation how gradients of its operands follow from gradients of its results.
//
// Rules.cpp holds the table; RulesElementwise, RulesShape, RulesCombining and RulesNamed fill it by topic.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <functional>
#include <type_traits>

namespace p3d {

/// The gradients found so far, and the builder with which rules make more.
class Gradients {
public:
  /// Gradients are sought of the values for which `wants` holds.
  Gradients(mlir::OpBuilder &builder, std::function<bool(mlir::Value)> wants)
      : builder(builder), wantsValue(std::move(wants)), loc(builder.getUnknownLoc()) {}

  bool wants(mlir::Value value) const { return value && wantsValue(value); }
  /// The gradient of `value`, null if it is zero as far as known.
  mlir::Value of(mlir::Value value) const { return sums.lookup(value); }
  /// Adds `gradient` to that of `value`, which is wanted.
  void add(mlir::Value value, mlir::Value gradient);
  /// Adds what `make` builds, unless the gradient of `value` is not wanted.
  template <typename Fn> void add(mlir::Value value, Fn make, std::enable_if_t<std::is_invocable_v<Fn>> * = nullptr) {
    if (wants(value))
      add(value, static_cast<mlir::Value>(make()));
  }

  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    return builder.create<OpTy>(loc, std::forward<Args>(args)...);
  }
  /// A result of one type with the operands.
  template <typename OpTy> mlir::Value make(mlir::Value a) { return create<OpTy>(a); }
  template <typename OpTy> mlir::Value make(mlir::Value a, mlir::Value b) { return create<OpTy>(a, b); }
  mlir::Value splat(mlir::RankedTensorType type, double value);
  mlir::Value splatLike(mlir::Value value, double element) { return splat(graph::tensorType(value), element); }
  mlir::Value scale(mlir::Value value, double factor) { return make<graph::MulOp>(value, splatLike(value, factor)); }
  mlir::Value compare(graph::ComparePredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse) {
    return create<graph::SelectOp>(onTrue.getType(), predicate, onTrue, onFalse);
  }
  /// `value` with another element type; made once for both operands of a contraction.
  mlir::Value convert(mlir::Value value, mlir::Type elementType);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value sum(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  /// `value` with its dimensions placed at `dims` of `shape`.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// `value`, which lacks the dimensions `dims` of `shape`, repeated along them.
  mlir::Value broadcastAlong(mlir::Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);

  mlir::OpBuilder &builder;

private:
  std::function<bool(mlir::Value)> wantsValue;
  mlir::Location loc;
  llvm::DenseMap<mlir::Value, mlir::Value> sums;

public:
  /// Every value passed to `add` and every sum, with the value whose gradient it is.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> parts;
  /// Where following operations come from.
  void setLocation(mlir::Location location) { loc = location; }

private:
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> conversions;
};

/// Gradients of an op's results, null where zero; at least one is not.
using ResultGradients = llvm::ArrayRef<mlir::Value>;

class RuleTable {
public:
  using Rule = std::function<mlir::LogicalResult(mlir::Operation *, ResultGradients, Gradients &)>;
  /// What becomes of gradients that reach an operation.
  enum class Kind {
    Passes, ///< its rule gives those of its operands
    Stops,  ///< they are zero, or the op has no float result
    Refused ///< a program that is differentiated may not have it
  };

  /// The rule of OpTy: a callable of (OpTy, gradient of result 0, Gradients &).
  template <typename OpTy, typename Fn> void on(Fn rule) {
    onAll<OpTy>([rule](OpTy op, ResultGradients d, Gradients &g) {
      if constexpr (std::is_void_v<decltype(rule(op, d[0], g))>)
        return rule(op, d[0], g), mlir::success();
      else
        return rule(op, d[0], g);
    });
  }
  /// The rule of an op of several results: a callable of (OpTy, ResultGradients, Gradients &) -> LogicalResult.
  template <typename OpTy, typename Fn> void onAll(Fn rule) {
    entries[mlir::TypeID::get<OpTy>()] = {Kind::Passes, [rule](mlir::Operation *op, ResultGradients d, Gradients &g) {
                                            return mlir::LogicalResult(rule(mlir::cast<OpTy>(op), d, g));
                                          }};
  }
  template <typename... OpTys> void stops() { ((entries[mlir::TypeID::get<OpTys>()] = {Kind::Stops, {}}), ...); }
  template <typename... OpTys> void refuses() { ((entries[mlir::TypeID::get<OpTys>()] = {Kind::Refused, {}}), ...); }

  struct Entry {
    Kind kind;
    Rule rule;
  };
  /// Null for an operation that the table does not know.
  const Entry *lookup(mlir::TypeID op) const {
    auto found = entries.find(op);
    return found == entries.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Entry> entries;
};

/// The rules of every operation but call, whose gradient is a call.
const RuleTable &getRules();
void addElementwiseRules(RuleTable &table);
void addShapeRules(RuleTable &table);
void addCombiningRules(RuleTable &table);
void addNamedRules(RuleTable &table);

/// Whether gradients pass through `op`; also for an operation that is refused, so that it is found and reported.
bool passesGradient(mlir::Operation *op);

} // namespace p3d
