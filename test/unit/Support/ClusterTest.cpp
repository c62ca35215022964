// Descriptions of clusters: what is read, what is refused, and which link a group of ranks waits for.
#include "passes/Support/Cluster.h"
#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>

using namespace p3d;
namespace json = llvm::json;

namespace {
json::Object description() {
  return json::Object{{"name", "two"},
                      {"memory_bytes", 1e9},
                      {"memory_bytes_per_second", 2e9},
                      {"flops_per_second", json::Object{{"f64", 1e9}, {"f32", 2e9}, {"f16", 3e9}, {"bf16", 4e9}}},
                      {"efficiency", json::Object{{"compute", 0.5}, {"memory", 0.75}}},
                      {"in_node", json::Object{{"bytes_per_second", 5e9}, {"latency_us", 2}}},
                      {"between_nodes", json::Object{{"bytes_per_second", 1e9}, {"latency_us", 7}}}};
}

llvm::Expected<Cluster> parse(json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return parseCluster(text, "c.json");
}

std::string messageOf(llvm::Expected<Cluster> cluster) { return cluster ? "" : llvm::toString(cluster.takeError()); }

TEST(Cluster, ReadsEveryField) {
  json::Object object = description();
  object["nodes"] = 2;
  object["devices_per_node"] = 4;
  llvm::Expected<Cluster> cluster = parse(std::move(object));
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_EQ(cluster->name, "two");
  EXPECT_EQ(cluster->nodes, 2);
  EXPECT_EQ(cluster->devicesPerNode, 4);
  EXPECT_EQ(cluster->memoryBytes, 1e9);
  EXPECT_EQ(cluster->memoryBytesPerSecond, 2e9);
  EXPECT_EQ(cluster->flopsPerSecond.at("bf16"), 4e9);
  EXPECT_EQ(cluster->flopsPerSecond.at("f64"), 1e9);
  EXPECT_EQ(cluster->computeEfficiency, 0.5);
  EXPECT_EQ(cluster->memoryEfficiency, 0.75);
  EXPECT_EQ(cluster->inNode.bytesPerSecond, 5e9);
  EXPECT_DOUBLE_EQ(cluster->betweenNodes.latencySeconds, 7e-6);
  // What a description need not say.
  EXPECT_EQ(cluster->attentionEfficiency, 0.5);
  EXPECT_EQ(cluster->launchSeconds, 0);
  EXPECT_EQ(cluster->cores, 0);
}

TEST(Cluster, ReadsOptionalFields) {
  json::Object object = description();
  object["efficiency"] = json::Object{{"compute", 0.5}, {"attention", 0.25}, {"attention_gradient", 0.125}, {"memory", 1}};
  object["launch_us"] = 3;
  object["cores_per_node"] = 2;
  llvm::Expected<Cluster> cluster = parse(std::move(object));
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_EQ(cluster->attentionEfficiency, 0.25);
  EXPECT_EQ(cluster->attentionGradientEfficiency, 0.125);
  EXPECT_DOUBLE_EQ(cluster->launchSeconds, 3e-6);
  EXPECT_EQ(cluster->cores, 2);
}

TEST(Cluster, LinkOfAGroup) {
  llvm::Expected<Cluster> cluster = parse(description());
  ASSERT_TRUE(bool(cluster));
  EXPECT_EQ(cluster->nodes, 0);
  ASSERT_FALSE(bool(parseClusterSize("2x4", *cluster)));
  EXPECT_EQ(cluster->nodeOf(5), 1);
  EXPECT_EQ(cluster->deviceOf(5), 1);
  EXPECT_EQ(cluster->linkOf({0, 1, 2, 3}).bytesPerSecond, 5e9);
  EXPECT_EQ(cluster->linkOf({4, 7}).bytesPerSecond, 5e9);
  EXPECT_EQ(cluster->linkOf({3, 4}).bytesPerSecond, 1e9);
}

TEST(Cluster, RefusesWhatIsNoDescription) {
  EXPECT_NE(messageOf(parseCluster("{", "c.json")).find("c.json: "), std::string::npos);
  EXPECT_EQ(messageOf(parseCluster("[]", "c.json")), "c.json: is no description of a cluster; expected an object");
  json::Object object = description();
  object.erase("name");
  EXPECT_EQ(messageOf(parse(std::move(object))), "c.json: has no field 'name'; expected a text");
}

TEST(Cluster, RefusesAMissingField) {
  json::Object object = description();
  object.erase("memory_bytes");
  EXPECT_EQ(messageOf(parse(std::move(object))), "c.json: has no field 'memory_bytes'; expected a number above 0");
  object = description();
  object.erase("in_node");
  EXPECT_EQ(messageOf(parse(std::move(object))),
            "c.json: has no field 'in_node.bytes_per_second'; expected a number above 0");
}

TEST(Cluster, RefusesAWrongField) {
  json::Object object = description();
  object["memory_bytes"] = "80 GB";
  EXPECT_EQ(messageOf(parse(std::move(object))),
            "c.json: field 'memory_bytes' is \"80 GB\"; expected a number above 0");
  object = description();
  (*object.getObject("in_node"))["latency_us"] = -1;
  EXPECT_EQ(messageOf(parse(std::move(object))), "c.json: field 'in_node.latency_us' is -1; expected a number above 0");
  object = description();
  (*object.getObject("efficiency"))["memory"] = 80;
  EXPECT_EQ(messageOf(parse(std::move(object))),
            "c.json: field 'efficiency.memory' is 80; expected a number above 0, at most 1");
  object = description();
  object["between_nodes"] = 5;
  EXPECT_EQ(messageOf(parse(std::move(object))), "c.json: field 'between_nodes' is 5; expected an object");
}

TEST(Cluster, RefusesAnUnknownField) {
  json::Object object = description();
  object["memory"] = 5;
  EXPECT_EQ(
      messageOf(parse(std::move(object)))
          .rfind("c.json: field 'memory' is unknown; expected one of name, nodes, devices_per_node, memory_bytes,", 0),
      0u);
  object = description();
  (*object.getObject("flops_per_second"))["tf32"] = 5;
  EXPECT_EQ(
      messageOf(parse(std::move(object))).rfind("c.json: field 'flops_per_second.tf32' is unknown; expected one of", 0),
      0u);
}

TEST(Cluster, RefusesHalfASize) {
  json::Object object = description();
  object["nodes"] = 2;
  EXPECT_EQ(messageOf(parse(std::move(object))),
            "c.json: fields 'nodes' and 'devices_per_node': '2x0' is no size; expected NODESxDEVICES like 4x8");
}
} // namespace
