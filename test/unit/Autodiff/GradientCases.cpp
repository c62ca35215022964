// The cases. Shapes are small and unequal, so that a wrong dimension shows.
#include "GradientCases.h"
#include <array>

using namespace p3d;

namespace {
std::string rangeText(const char *range) { return range ? std::string(" {test.range = ") + range + "}" : ""; }

/// An operation of one operand of its type.
GradientCase unary(const std::string &op, const char *range = nullptr) {
  return {op, "graph.block @f(%x: tensor<2x3xf32>" + rangeText(range) + ") -> tensor<2x3xf32> {\n"
              "  %r = graph." + op + " %x : tensor<2x3xf32>\n  graph.yield %r : tensor<2x3xf32>\n}"};
}

GradientCase binary(const std::string &op, const char *lhsRange = nullptr, const char *rhsRange = nullptr) {
  return {op, "graph.block @f(%x: tensor<2x3xf32>" + rangeText(lhsRange) + ", %y: tensor<2x3xf32>" + rangeText(rhsRange) +
              ") -> tensor<2x3xf32> {\n  %r = graph." + op + " %x, %y : tensor<2x3xf32>\n  graph.yield %r : tensor<2x3xf32>\n}"};
}

/// `body` computes %r of type `result` from the arguments.
GradientCase custom(const std::string &name, const std::string &arguments, const std::string &result, const std::string &body) {
  return {name, "graph.block @f(" + arguments + ") -> " + result + " {\n" + body + "\n  graph.yield %r : " + result + "\n}"};
}

std::string einsum(const std::string &spec, const std::string &lhs, const std::string &rhs, const std::string &result) {
  return "graph.block @f(%x: tensor<" + lhs + ">, %y: tensor<" + rhs + ">) -> tensor<" + result + "> {\n  %r = graph.einsum \"" + spec +
         "\" %x, %y : (tensor<" + lhs + ">, tensor<" + rhs + ">) -> tensor<" + result + ">\n  graph.yield %r : tensor<" + result + ">\n}";
}

std::vector<GradientCase> elementwiseCases() {
  return {
      unary("neg"),
      unary("abs"),
      unary("exp"),
      unary("expm1"),
      unary("log", "[0.5, 2]"),
      unary("log1p", "[-0.5, 2]"),
      unary("sqrt", "[0.5, 2]"),
      unary("rsqrt", "[0.5, 2]"),
      unary("cbrt", "[0.5, 2]"),
      unary("tanh"),
      unary("logistic"),
      unary("sin"),
      unary("cos"),
      unary("erf"),
      unary("erfc"),
      unary("silu"),
      unary("softmax"),
      binary("add"),
      binary("sub"),
      binary("mul"),
      binary("div", nullptr, "[0.5, 2]"),
      binary("max"),
      binary("min"),
      binary("pow", "[0.5, 2]"),
      binary("rem", "[0.1, 4]", "[5, 7]"),
      binary("swiglu"),
      custom("select", "%p: tensor<4xi1> {test.range = [0, 2]}, %x: tensor<4xf32>, %y: tensor<4xf32>", "tensor<4xf32>",
             "%r = graph.select %p, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"),
      // A masked softmax: no product meets -inf.
      custom("select with -inf", "%x: tensor<4xf32>", "tensor<f32>", R"(
        %i = graph.iota {dim = 0 : i64} : tensor<4xi32>
        %two = graph.constant dense<2> : tensor<4xi32>
        %p = graph.compare lt %i, %two : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
        %low = graph.constant dense<0xFF800000> : tensor<4xf32>
        %m = graph.select %p, %x, %low : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %top = graph.reduce max %m dims [0] : (tensor<4xf32>) -> tensor<f32>
        %c = graph.constant dense<0xFF800000> : tensor<f32>
        %t = graph.max %c, %top : tensor<f32>
        %tb = graph.broadcast %t dims [] : (tensor<f32>) -> tensor<4xf32>
        %s = graph.sub %m, %tb : tensor<4xf32>
        %e = graph.exp %s : tensor<4xf32>
        %n = graph.reduce sum %e dims [0] : (tensor<4xf32>) -> tensor<f32>
        %l = graph.log %n : tensor<f32>
        %r = graph.add %l, %t : tensor<f32>)"),
      custom("equal operands of max", "%x: tensor<4xf32>", "tensor<4xf32>", "%r = graph.max %x, %x : tensor<4xf32>"),
      custom("convert", "%x: tensor<4xf32>", "tensor<4xf32>", R"(
        %b = graph.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
        %s = graph.mul %b, %b : tensor<4xbf16>
        %r = graph.convert %s : (tensor<4xbf16>) -> tensor<4xf32>)"),
      custom("floor", "%x: tensor<4xf32>, %y: tensor<4xf32>", "tensor<4xf32>", R"(
        %f = graph.floor %y : tensor<4xf32>
        %r = graph.mul %x, %f : tensor<4xf32>)"),
      custom("gelu tanh", "%x: tensor<4xf32>", "tensor<4xf32>", "%r = graph.gelu tanh %x : tensor<4xf32>"),
      custom("gelu erf", "%x: tensor<4xf32>", "tensor<4xf32>", "%r = graph.gelu erf %x : tensor<4xf32>"),
  };
}

std::vector<GradientCase> shapeCases() {
  return {
      custom("broadcast", "%x: tensor<3x1xf32>", "tensor<2x3x4xf32>", "%r = graph.broadcast %x dims [1, 2] : (tensor<3x1xf32>) -> tensor<2x3x4xf32>"),
      custom("broadcast kept 1", "%x: tensor<1x3xf32>", "tensor<1x2x3xf32>", "%r = graph.broadcast %x dims [0, 2] : (tensor<1x3xf32>) -> tensor<1x2x3xf32>"),
      custom("reshape", "%x: tensor<2x6xf32>", "tensor<3x4xf32>", "%r = graph.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>"),
      custom("transpose", "%x: tensor<2x3x4xf32>", "tensor<4x2x3xf32>", "%r = graph.transpose %x [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>"),
      custom("slice", "%x: tensor<3x8xf32>", "tensor<2x3xf32>", "%r = graph.slice %x [1, 1] to [3, 8] step [1, 3] : (tensor<3x8xf32>) -> tensor<2x3xf32>"),
      custom("slice short of the end", "%x: tensor<8xf32>", "tensor<2xf32>", "%r = graph.slice %x [1] to [6] step [3] : (tensor<8xf32>) -> tensor<2xf32>"),
      custom("pad", "%x: tensor<2x3xf32>, %v: tensor<f32>", "tensor<5x4xf32>",
             "%r = graph.pad %x, %v low [1, -1] high [2, 0] interior [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x4xf32>"),
      custom("pad cropped at both ends", "%x: tensor<5xf32>, %v: tensor<f32>", "tensor<2xf32>",
             "%r = graph.pad %x, %v low [-1] high [-2] interior [0] : (tensor<5xf32>, tensor<f32>) -> tensor<2xf32>"),
      custom("concat", "%x: tensor<2x1xf32>, %y: tensor<2x3xf32>", "tensor<2x5xf32>",
             "%r = graph.concat %x, %y, %x {dim = 1 : i64} : (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>"),
      custom("constrain", "%x: tensor<2x3xf32>", "tensor<2x3xf32>", "%r = graph.constrain %x : tensor<2x3xf32> as \"anything\""),
      custom("reverse", "%x: tensor<2x3xf32>", "tensor<2x3xf32>", "%r = graph.reverse %x dims [1] : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
      custom("gather", "%x: tensor<5x2xf32>, %i: tensor<2x3xi32> {test.range = [-2, 8]}", "tensor<2x3x2xf32>",
             "%r = graph.gather %x, %i {axis = 0 : i64, batch_dims = 0 : i64} : (tensor<5x2xf32>, tensor<2x3xi32>) -> tensor<2x3x2xf32>"),
      custom("gather with batch", "%x: tensor<2x4x5x3xf32>, %i: tensor<2x6xi32> {test.range = [0, 5]}", "tensor<2x4x6x3xf32>",
             "%r = graph.gather %x, %i {axis = 2 : i64, batch_dims = 1 : i64} : (tensor<2x4x5x3xf32>, tensor<2x6xi32>) -> tensor<2x4x6x3xf32>"),
      custom("scatter_add", "%x: tensor<2x6x3xf32>, %i: tensor<2x6xi32> {test.range = [0, 4]}", "tensor<2x4x3xf32>",
             "%r = graph.scatter_add %x, %i {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<2x6x3xf32>, tensor<2x6xi32>) -> tensor<2x4x3xf32>"),
      custom("top_k", "%x: tensor<2x3x5xf32>", "tensor<2x3x2xf32>", "%r, %i = graph.top_k %x {k = 2 : i64} : (tensor<2x3x5xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)"),
      custom("sort", "%x: tensor<2x5xf32>", "tensor<2x5xf32>", "%r, %i = graph.sort %x {descending} : (tensor<2x5xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)"),
      custom("embedding", "%x: tensor<5x2xf32>, %i: tensor<2x3xi32> {test.range = [-5, 5]}", "tensor<2x3x2xf32>",
             "%r = graph.embedding %x, %i : (tensor<5x2xf32>, tensor<2x3xi32>) -> tensor<2x3x2xf32>"),
  };
}

/// Each value is used twice: whoever follows uses without remembering takes 2^60 steps.
GradientCase sharedValues() {
  std::string body;
  for (int i = 0; i < 60; ++i) {
    std::string from = i ? "%t" + std::to_string(i) : "%x", sum = "%s" + std::to_string(i), to = "%t" + std::to_string(i + 1);
    body += "  " + sum + " = graph.mul " + from + ", " + from + " : tensor<2xf32>\n  " + to + " = graph.sin " + sum + " : tensor<2xf32>\n";
  }
  return custom("shared values", "%x: tensor<2xf32> {test.range = [0.8, 1]}", "tensor<2xf32>", body + "  %r = graph.add %t60, %x : tensor<2xf32>");
}

std::vector<GradientCase> combiningCases() {
  std::vector<GradientCase> cases;
  for (std::string kind : {"sum", "max", "min", "prod"}) {
    cases.push_back(custom("reduce " + kind, "%x: tensor<2x3x4xf32>", "tensor<3xf32>",
                           "%r = graph.reduce " + kind + " %x dims [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>"));
  }
  for (std::string kind : {"sum", "max", "min"})
    for (std::string reverse : {"", ", reverse"})
      cases.push_back(custom("cumulative " + kind + reverse, "%x: tensor<2x4x3xf32>", "tensor<2x4x3xf32>",
                             "%r = graph.cumulative " + kind + " %x {dim = 1 : i64" + reverse + "} : tensor<2x4x3xf32>"));
  cases.push_back(sharedValues());
  // Zeros do no harm to the gradient of a product.
  cases.push_back(custom("product with zeros", "%x: tensor<2x3xf32>", "tensor<2xf32>", R"(
        %c = graph.constant dense<[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]> : tensor<2x3xf32>
        %y = graph.mul %x, %c : tensor<2x3xf32>
        %r = graph.reduce prod %y dims [1] : (tensor<2x3xf32>) -> tensor<2xf32>)"));
  for (auto [spec, lhs, rhs, result] : std::vector<std::array<std::string, 4>>{
           {"bsd,df->bsf", "2x3x4xf32", "4x5xf32", "2x3x5xf32"},
           {"bshd,bthd->bhst", "2x3x2x4xf32", "2x5x2x4xf32", "2x2x3x5xf32"},
           {"i,j->ji", "3xf32", "4xf32", "4x3xf32"},
           {"ijk,jl->i", "2x3x4xf32", "3x5xf32", "2xf32"},
           {"bd,bd->", "2x3xf32", "2x3xf32", "f32"},
           {"bd,b->", "2x3xf32", "2xf32", "f32"},
           {",b->b", "f32", "3xf32", "3xf32"},
           {"ab,bc->ac", "2x3xbf16", "3x4xbf16", "2x4xf32"}})
    cases.push_back({"einsum " + spec, einsum(spec, lhs, rhs, result)});
  return cases;
}

std::vector<GradientCase> namedCases() {
  return {
      custom("layer_norm", "%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>", "tensor<2x3x4xf32>", R"(
        %r, %m, %v = graph.layer_norm %x, %s, %b {epsilon = 1.0e-2 : f64}
            : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>))"),
      custom("rms_norm", "%x: tensor<2x3x4xf32>, %s: tensor<4xf32>", "tensor<2x3x4xf32>", R"(
        %r, %v = graph.rms_norm %x, %s {epsilon = 1.0e-2 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>))"),
      custom("softmax_cross_entropy", "%x: tensor<2x3x5xf32>, %t: tensor<2x3xi32> {test.range = [-2, 5]}", "tensor<2x3xf32>", R"(
        %r, %m, %s = graph.softmax_cross_entropy %x, %t
            : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>))"),
      custom("rope", "%x: tensor<2x3x2x4xf32>, %a: tensor<3x2xf32> {graph.role = \"input\"}", "tensor<2x3x2x4xf32>", R"(
        %t = graph.concat %a, %a {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
        %c = graph.cos %t : tensor<3x4xf32>
        %s = graph.sin %t : tensor<3x4xf32>
        %r = graph.rope %x, %c, %s : (tensor<2x3x2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x2x4xf32>)"),
      custom("rope with batch, transposed", "%x: tensor<2x3x2x4xf32>, %a: tensor<2x3x2xf32> {graph.role = \"input\"}", "tensor<2x3x2x4xf32>", R"(
        %t = graph.concat %a, %a {dim = 2 : i64} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x4xf32>
        %c = graph.cos %t : tensor<2x3x4xf32>
        %s = graph.sin %t : tensor<2x3x4xf32>
        %r = graph.rope %x, %c, %s {transposed} : (tensor<2x3x2x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x2x4xf32>)"),
      custom("attention", "%q: tensor<2x3x4x2xf32>, %k: tensor<2x3x2x2xf32>, %v: tensor<2x3x2x2xf32>", "tensor<2x3x4x2xf32>", R"(
        %r, %l = graph.attention %q, %k, %v {scale = 0.7 : f64, causal, masked_value = 0xFFF0000000000000 : f64}
            : (tensor<2x3x4x2xf32>, tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>))"),
      custom("attention with mask", "%q: tensor<2x3x4x2xf32>, %k: tensor<2x5x2x2xf32>, %v: tensor<2x5x2x2xf32>, %m: tensor<2x1x1x5xf32> {graph.role = \"input\"}",
             "tensor<2x3x4x2xf32>", R"(
        %r, %l = graph.attention %q, %k, %v mask %m {scale = 0.7 : f64, masked_value = -1.0e9 : f64}
            : (tensor<2x3x4x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x1x1x5xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>))"),
  };
}
} // namespace

const std::vector<GradientCase> &p3d::gradientCases() {
  static const std::vector<GradientCase> cases = [] {
    std::vector<GradientCase> all;
    for (auto topic : {elementwiseCases, shapeCases, combiningCases, namedCases})
      for (const GradientCase &made : topic())
        all.push_back(made);
    return all;
  }();
  return cases;
}
