// Descriptions of clusters. What a file holds is said by one table, from which reading and complaints come.
#include "passes/Support/Cluster.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <optional>

using namespace p3d;
namespace json = llvm::json;

namespace {
constexpr llvm::StringLiteral kDtypes[] = {"f64", "f32", "f16", "bf16"};

/// A number of the file: where it stands (`group` may be empty), in which unit, and where it goes.
struct Field {
  llvm::StringRef group, name;
  double *number;
  double unit = 1;
  bool isOptional = false;
  double most = std::numeric_limits<double>::infinity();

  std::string path() const { return group.empty() ? name.str() : (group + "." + name).str(); }
};

llvm::Error fail(const llvm::Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

/// Reads the fields of one file and remembers which there may be.
class Reader {
public:
  Reader(const json::Object &root, llvm::StringRef file) : root(root), file(file) {}

  llvm::Error read(const Field &field) {
    std::string expected = std::isinf(field.most)
                               ? "a number above 0"
                               : llvm::formatv("a number above 0, at most {0}", json::Value(field.most)).str();
    const json::Object *holder = field.group.empty() ? &root : root.getObject(field.group);
    const json::Value *value = holder ? holder->get(field.name) : nullptr;
    if (!value)
      return field.isOptional ? llvm::Error::success()
                              : fail(file + ": has no field '" + field.path() + "'; expected " + expected);
    std::optional<double> number = value->getAsNumber();
    if (!number || !(*number > 0) || !(*number <= field.most))
      return fail(llvm::formatv("{0}: field '{1}' is {2}; expected {3}", file, field.path(), *value, expected).str());
    *field.number = *number * field.unit;
    return llvm::Error::success();
  }

  /// Refuses what no field is called, such as a slip of the pen.
  llvm::Error checkNames(llvm::ArrayRef<Field> fields) {
    llvm::SmallVector<std::string> known{"name"};
    for (const Field &field : fields)
      known.push_back(field.path());
    for (auto &[name, value] : root) {
      if (llvm::any_of(fields, [&, key = name.str()](const Field &field) { return field.group == key; })) {
        const json::Object *group = value.getAsObject();
        if (!group)
          return fail(llvm::formatv("{0}: field '{1}' is {2}; expected an object", file, name.str(), value).str());
        for (auto &[inner, ignored] : *group)
          if (llvm::Error error = checkName((name.str() + "." + inner.str()), known))
            return error;
      } else if (llvm::Error error = checkName(name.str(), known)) {
        return error;
      }
    }
    return llvm::Error::success();
  }

private:
  llvm::Error checkName(const std::string &name, llvm::ArrayRef<std::string> known) {
    if (llvm::is_contained(known, name))
      return llvm::Error::success();
    return fail(file + ": field '" + name + "' is unknown; expected one of " + llvm::join(known, ", "));
  }

  const json::Object &root;
  llvm::StringRef file;
};
} // namespace

const Link &Cluster::linkOf(llvm::ArrayRef<int64_t> ranks) const {
  auto isAway = [&](int64_t rank) { return nodeOf(rank) != nodeOf(ranks.front()); };
  return llvm::any_of(ranks, isAway) ? betweenNodes : inNode;
}

llvm::Expected<Cluster> p3d::parseCluster(llvm::StringRef text, llvm::StringRef file) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return fail(file + ": " + llvm::toString(parsed.takeError()));
  const json::Object *root = parsed->getAsObject();
  if (!root)
    return fail(file + ": is no description of a cluster; expected an object");
  Cluster cluster;
  if (std::optional<llvm::StringRef> name = root->getString("name"))
    cluster.name = name->str();
  else
    return fail(file + ": has no field 'name'; expected a text");

  constexpr double kMicro = 1e-6;
  double nodes = 0, devices = 0, cores = 0;
  llvm::SmallVector<Field> fields{{"", "nodes", &nodes, 1, /*isOptional=*/true},
                                  {"", "devices_per_node", &devices, 1, /*isOptional=*/true},
                                  {"", "memory_bytes", &cluster.memoryBytes},
                                  {"", "memory_bytes_per_second", &cluster.memoryBytesPerSecond},
                                  {"efficiency", "compute", &cluster.computeEfficiency, 1, false, 1},
                                  {"efficiency", "attention", &cluster.attentionEfficiency, 1, true, 1},
                                  {"efficiency", "attention_gradient", &cluster.attentionGradientEfficiency, 1, true, 1},
                                  {"efficiency", "memory", &cluster.memoryEfficiency, 1, false, 1},
                                  {"", "launch_us", &cluster.launchSeconds, kMicro, /*isOptional=*/true},
                                  {"", "cores_per_node", &cores, 1, /*isOptional=*/true},
                                  {"in_node", "bytes_per_second", &cluster.inNode.bytesPerSecond},
                                  {"in_node", "latency_us", &cluster.inNode.latencySeconds, kMicro},
                                  {"between_nodes", "bytes_per_second", &cluster.betweenNodes.bytesPerSecond},
                                  {"between_nodes", "latency_us", &cluster.betweenNodes.latencySeconds, kMicro}};
  for (llvm::StringRef dtype : kDtypes)
    fields.push_back({"flops_per_second", dtype, &cluster.flopsPerSecond[dtype.str()]});
  Reader reader(*root, file);
  if (llvm::Error error = reader.checkNames(fields))
    return std::move(error);
  cluster.attentionEfficiency = cluster.attentionGradientEfficiency = 0;
  for (const Field &field : fields)
    if (llvm::Error error = reader.read(field))
      return std::move(error);
  // A description that says nothing of attention takes it for products like others.
  for (double *efficiency : {&cluster.attentionEfficiency, &cluster.attentionGradientEfficiency})
    if (*efficiency == 0)
      *efficiency = cluster.computeEfficiency;
  cluster.cores = std::ceil(cores);
  if (nodes == 0 && devices == 0)
    return cluster;
  // The two make sense together only, and both are counts.
  if (llvm::Error error =
          parseClusterSize(llvm::formatv("{0}x{1}", json::Value(nodes), json::Value(devices)).str(), cluster))
    return fail(file + ": fields 'nodes' and 'devices_per_node': " + llvm::toString(std::move(error)));
  return cluster;
}

llvm::Error p3d::parseClusterSize(llvm::StringRef text, Cluster &cluster) {
  auto [nodes, devices] = text.split('x');
  if (nodes.getAsInteger(10, cluster.nodes) || devices.getAsInteger(10, cluster.devicesPerNode) || cluster.nodes < 1 ||
      cluster.devicesPerNode < 1)
    return fail("'" + text + "' is no size; expected NODESxDEVICES like 4x8");
  return llvm::Error::success();
}
