// attention, from the product of probabilities and values back to q, k and v. Query heads that share a key head come either as a dimension of
// their own beside it, or by repeating the key heads.
#include "dialects/Graph/EinsumSpec.h"
#include "passes/Import/AttentionMatch.h"
#include "passes/Import/Passes.h"
#include "passes/Import/Translation.h"

namespace p3d {
#define GEN_PASS_DEF_RECOGNIZEATTENTION
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

using graph::EinsumSpec;

/// The letters of the product of q and k, whose result is ordered as the scores are; `queryFirst` says that q is the left operand.
std::optional<AttentionLetters> lettersOf(const std::string &q, const std::string &k, const std::string &scores) {
  AttentionLetters letters;
  letters.key = scores.back();
  if (!EinsumSpec::has(k, letters.key) || EinsumSpec::has(q, letters.key) || scores.size() < 2)
    return std::nullopt;
  letters.query = scores[scores.size() - 2];
  if (!EinsumSpec::has(q, letters.query) || EinsumSpec::has(k, letters.query))
    return std::nullopt;
  std::string shared, own;
  for (char letter : q) {
    bool inK = EinsumSpec::has(k, letter), inScores = EinsumSpec::has(scores, letter);
    if (inK && !inScores) {
      if (letters.width)
        return std::nullopt;
      letters.width = letter;
    } else if (inK) {
      shared += letter;
    } else if (letter != letters.query) {
      own += letter;
    }
  }
  if (!letters.width || shared.size() != 2 || own.size() > 1 || k.size() != 4)
    return std::nullopt;
  letters.batch = shared[0];
  letters.head = shared[1];
  letters.group = own.empty() ? 0 : own[0];
  return letters;
}

/// `value`, whose dimensions are `letters`, with the dimensions `order`.
Value arrange(OpBuilder &builder, Location loc, Value value, const std::string &letters, const std::string &order) {
  SmallVector<int64_t> permutation;
  for (char letter : order)
    permutation.push_back(letters.find(letter));
  return transpose(builder, loc, value, permutation);
}

/// The key heads before each was repeated `repeats` times; null when they are not repeated. `dim` is the head dimension of `value`.
Value withoutRepeats(OpBuilder &builder, Value value, int64_t dim, int64_t &repeats) {
  auto reshapeOp = value.getDefiningOp<graph::ReshapeOp>();
  auto spread = reshapeOp ? reshapeOp.getOperand().getDefiningOp<graph::BroadcastOp>() : graph::BroadcastOp();
  if (!spread)
    return {};
  auto to = graph::tensorType(value).getShape(), wide = spread.getType().getShape();
  if (wide.size() != to.size() + 1 || wide.take_front(dim) != to.take_front(dim) || wide.drop_front(dim + 2) != to.drop_front(dim + 1) ||
      wide[dim] * wide[dim + 1] != to[dim])
    return {};
  Spread source = spreadOf(spread.getResult());
  SmallVector<int64_t> covered, shape;
  for (int64_t d : source.dims)
    if (d >= 0)
      covered.push_back(d);
  for (int64_t d = 0; d < int64_t(wide.size()); ++d) {
    if (d == dim + 1)
      continue;
    if (wide[d] != 1 && !llvm::is_contained(covered, d))
      return {};
    shape.push_back(wide[d]);
  }
  if (llvm::is_contained(covered, dim + 1) || !llvm::is_sorted(covered))
    return {};
  repeats = wide[dim + 1];
  return reshape(builder, value.getLoc(), source.source, shape);
}

class AttentionRecognizer {
public:
  AttentionRecognizer(graph::EinsumOp context, OpBuilder &builder) : context(context), builder(builder), loc(context.getLoc()) {}

  /// The result of `context` computed by an attention; null when it is no product of probabilities and values.
  Value recognize() {
    auto spec = EinsumSpec::parse(context.getSpec());
    for (bool probabilitiesFirst : {false, true}) {
      Value p = withoutConverts(probabilitiesFirst ? context.getLhs() : context.getRhs());
      auto softmax = p.getDefiningOp<graph::SoftmaxOp>();
      if (!softmax)
        continue;
      std::optional<Scores> scores = matchScores(softmax.getOperand(), builder);
      if (!scores)
        return {};
      auto product = EinsumSpec::parse(scores->product.getSpec());
      for (bool queryFirst : {true, false})
        if (Value result = build(*scores, queryFirst ? product->lhs : product->rhs, queryFirst ? product->rhs : product->lhs,
                                 product->result, queryFirst, probabilitiesFirst ? spec->lhs : spec->rhs,
                                 probabilitiesFirst ? spec->rhs : spec->lhs, spec->result, probabilitiesFirst))
          return result;
      return {};
    }
    return {};
  }

private:
  Value build(Scores &scores, const std::string &q, const std::string &k, const std::string &scoreLetters, bool queryFirst,
              std::string p, std::string v, std::string result, bool probabilitiesFirst) {
    std::optional<AttentionLetters> letters = lettersOf(q, k, scoreLetters);
    if (!letters || p.size() != scoreLetters.size())
      return {};
    // Letters of the second product in terms of the first; the width of v keeps a letter of its own.
    std::string renamedV, renamedResult;
    char width = '*';
    auto rename = [&](char letter) {
      size_t i = p.find(letter);
      return i == std::string::npos ? width : scoreLetters[i];
    };
    for (char letter : v)
      renamedV += rename(letter);
    for (char letter : result)
      renamedResult += rename(letter);
    std::string rows = {letters->batch, letters->key, letters->head};
    if (renamedResult.size() != (letters->group ? 5 : 4) || v.size() != 4 || llvm::count(renamedV, width) != 1 || EinsumSpec::has(renamedResult, letters->key) ||
        llvm::count(renamedResult, width) != 1 || !llvm::all_of(rows, [&](char letter) { return EinsumSpec::has(renamedV, letter); }))
      return {};

    Value query = queryFirst ? scores.product.getLhs() : scores.product.getRhs();
    Value key = queryFirst ? scores.product.getRhs() : scores.product.getLhs();
    Value value = probabilitiesFirst ? context.getRhs() : context.getLhs();
    Operands operands;
    if (!arrangeKeys(key, k, value, renamedV, *letters, operands))
      return {};
    std::string heads = std::string(1, letters->head) + (letters->group ? std::string(1, letters->group) : "");
    operands.query = arrange(builder, loc, query, q, std::string{letters->batch, letters->query} + heads + letters->width);
    auto grouped = graph::tensorType(operands.query).getShape();
    int64_t headCount = letters->group ? grouped[2] * grouped[3] : grouped[2];
    SmallVector<int64_t> shape{grouped[0], grouped[1], headCount, grouped.back()};
    if (graph::tensorType(operands.key).getDimSize(3) != shape[3] || operands.key.getType() != operands.value.getType())
      return {};
    Value mask = scores.mask;
    if (mask && !(mask = arrangeMask(mask, scoreLetters, *letters)))
      return {};
    SmallVector<int64_t> outShape(grouped.begin(), grouped.end());
    Value out = attention(reshape(builder, loc, operands.query, shape), operands, mask, scores);
    out = reshape(builder, loc, out, outShape);
    return arrange(builder, loc, out, std::string{letters->batch, letters->query} + heads + width, renamedResult);
  }

  struct Operands {
    Value query, key, value;
  };

  /// k and v as [b, t, h, d], without repeats of their heads.
  bool arrangeKeys(Value key, const std::string &k, Value value, const std::string &v, const AttentionLetters &letters, Operands &operands) {
    if (!letters.group) {
      int64_t keyRepeats = 1, valueRepeats = 1;
      Value bareKey = withoutRepeats(builder, key, k.find(letters.head), keyRepeats);
      Value bareValue = bareKey ? withoutRepeats(builder, value, v.find(letters.head), valueRepeats) : Value();
      if (bareValue && keyRepeats == valueRepeats) {
        key = bareKey;
        value = bareValue;
      }
    }
    operands.key = arrange(builder, loc, key, k, {letters.batch, letters.key, letters.head, letters.width});
    operands.value = arrange(builder, loc, value, v, {letters.batch, letters.key, letters.head, '*'});
    return true;
  }

  /// The mask as [b or 1, h or 1, s or 1, t], f32; null when it differs between query heads of one key head in a way that this does not say.
  Value arrangeMask(Value mask, const std::string &scoreLetters, const AttentionLetters &letters) {
    Spread spread = spreadOf(mask);
    auto type = graph::tensorType(mask);
    std::string order = {letters.batch, letters.head, letters.query, letters.key};
    SmallVector<int64_t> shape(4, 1), dims, kept;
    for (auto [i, dim] : llvm::enumerate(spread.dims)) {
      if (dim < 0)
        continue;
      size_t place = order.find(scoreLetters[dim]);
      if (place == std::string::npos || (place == 1 && letters.group))
        return {};
      shape[place] = type.getDimSize(dim);
      dims.push_back(place);
      kept.push_back(graph::tensorType(spread.source).getDimSize(i));
    }
    Value bare = reshape(builder, loc, spread.source, kept);
    SmallVector<int64_t> ordering = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
    llvm::sort(ordering, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
    bare = transpose(builder, loc, bare, ordering);
    bare = reshape(builder, loc, bare, shape);
    if (int64_t keys = type.getDimSize(scoreLetters.find(letters.key)); shape[3] != keys) {
      shape[3] = keys;
      bare = broadcast(builder, loc, bare, shape, {0, 1, 2, 3});
    }
    auto f32 = graph::tensorType(bare).clone(builder.getF32Type());
    return bare.getType() == f32 ? bare : builder.create<graph::ConvertOp>(loc, f32, bare);
  }

  Value attention(Value query, const Operands &operands, Value mask, const Scores &scores) {
    auto type = graph::tensorType(query);
    auto statistics = type.getElementType().isF64() ? type.getElementType() : builder.getF32Type();
    auto lse = RankedTensorType::get({type.getDimSize(0), type.getDimSize(2), type.getDimSize(1)}, statistics);
    auto result = type.clone(context.getType().getElementType());
    return builder
        .create<graph::AttentionOp>(loc, result, lse, query, operands.key, operands.value, mask, builder.getF64FloatAttr(scores.scale),
                                    scores.causal ? builder.getUnitAttr() : UnitAttr(), builder.getF64FloatAttr(scores.maskedValue))
        .getResult();
  }

  graph::EinsumOp context;
  OpBuilder &builder;
  Location loc;
};

struct RecognizeAttentionPass : p3d::impl::RecognizeAttentionBase<RecognizeAttentionPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    replaceInReverse(getOperation(), [&](Operation *op) -> Value {
      auto einsum = dyn_cast<graph::EinsumOp>(op);
      if (!einsum)
        return {};
      builder.setInsertionPoint(op);
      return AttentionRecognizer(einsum, builder).recognize();
    });
  }
};

} // namespace
