#include "frontend/model/Rope.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

namespace {
/// Llama 3: long waves are stretched by the factor, short ones kept, those between blended.
void scaleAsLlama3(ConfigFields &fields, std::vector<float> &frequencies) {
  float factor = fields.number("factor", 8), low = fields.number("low_freq_factor", 1),
        high = fields.number("high_freq_factor", 4);
  float original = fields.count("original_max_position_embeddings");
  if (!(factor >= 1))
    fields.complain("factor", "a number of at least 1");
  if (!(low > 0 && low < high))
    fields.complain("low_freq_factor", "a number above 0 and below high_freq_factor");
  for (float &frequency : frequencies) {
    float length = 2 * float(M_PI) / frequency;
    if (length > original / low)
      frequency /= factor;
    else if (length >= original / high) {
      float blend = (original / length - low) / (high - low);
      frequency = (1 - blend) * frequency / factor + blend * frequency;
    }
  }
}

void scaleLinearly(ConfigFields &fields, std::vector<float> &frequencies) {
  float factor = fields.number("factor", 1);
  if (!(factor >= 1))
    fields.complain("factor", "a number of at least 1");
  for (float &frequency : frequencies)
    frequency /= factor;
}

void scale(ConfigFields &fields, std::vector<float> &frequencies) {
  // Older files say `type`.
  std::string type = fields.text("rope_type", fields.text("type", "default"));
  if (type == "llama3")
    scaleAsLlama3(fields, frequencies);
  else if (type == "linear")
    scaleLinearly(fields, frequencies);
  else if (type != "default")
    fields.complain(fields.has("rope_type") ? "rope_type" : "type", "one of default, linear, llama3");
  fields.mustBe("partial_rotary_factor", 1.0, "all of a head is rotated");
}
} // namespace

std::vector<float> model::readRopeFrequencies(ConfigFields &fields, StringRef modelType, int64_t width,
                                              double defaultTheta) {
  double theta = fields.number("rope_theta", defaultTheta);
  StringRef name = fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const llvm::json::Object *object = fields.nested(name);
  static const llvm::json::Object none;
  ConfigFields parameters(object ? *object : none, (name + ".").str());
  theta = parameters.number("rope_theta", theta);
  if (!(theta > 0))
    fields.complain("rope_theta", "a number above 0");
  std::vector<float> frequencies;
  for (int64_t i = 0; i < width; i += 2)
    frequencies.push_back(1 / std::pow(float(theta), float(i) / float(width)));
  scale(parameters, frequencies);
  fields.join(parameters, modelType);
  return frequencies;
}

std::vector<Value> model::ropeTables(TensorBuilder &b, ArrayRef<float> frequencies, int64_t sequence) {
  TensorBuilder::Scope scope(b, "rotary_emb");
  Shape shape{sequence, int64_t(frequencies.size())};
  Value positions = b.iota(shape, 0, b.f32());
  Value half = b.mul(positions, b.broadcast(b.constant(frequencies), shape, {1}));
  Value angles = b.concatenate({half, half}, 1);
  return {b.unary<stablehlo::CosineOp>(angles), b.unary<stablehlo::SineOp>(angles)};
}

Value model::rotate(TensorBuilder &b, Value x, ArrayRef<Value> tables) {
  int64_t width = typeOf(x).getDimSize(3);
  Value turned =
      b.concatenate({b.unary<stablehlo::NegOp>(b.slice(x, 3, width / 2, width)), b.slice(x, 3, 0, width / 2)}, 3);
  auto times = [&](Value value, Value table) {
    value = b.convert(value, b.f32());
    return b.mul(value, b.broadcast(table, typeOf(value).getShape(), {1, 3}));
  };
  return b.convert(b.add(times(x, tables[0]), times(turned, tables[1])), typeOf(x).getElementType());
}
