// Which rank has which coordinates, and the groups that follow.
#include "compiler/RankOrder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <utility>

using namespace p3d;

static constexpr std::pair<RankOrder::Kind, llvm::StringLiteral> kOrders[] = {{RankOrder::TpDpPp, "tp-dp-pp"},
                                                                              {RankOrder::TpPpDp, "tp-pp-dp"}};

std::optional<RankOrder::Kind> RankOrder::parse(llvm::StringRef text) {
  for (auto [kind, name] : kOrders)
    if (name == text)
      return kind;
  return std::nullopt;
}

llvm::StringRef RankOrder::getName() const {
  for (auto [other, name] : kOrders)
    if (other == kind)
      return name;
  llvm_unreachable("every order has a name");
}

int64_t RankOrder::rankOf(Coordinates at) const {
  switch (kind) {
  case TpDpPp:
    return at.tp + mesh.tp * (at.dp + mesh.dp * at.pp);
  case TpPpDp:
    return at.tp + mesh.tp * (at.pp + mesh.pp * at.dp);
  }
  llvm_unreachable("an order");
}

Coordinates RankOrder::coordinatesOf(int64_t rank) const {
  int64_t tp = rank % mesh.tp, rest = rank / mesh.tp;
  switch (kind) {
  case TpDpPp:
    return {tp, rest / mesh.dp, rest % mesh.dp};
  case TpPpDp:
    return {tp, rest % mesh.pp, rest / mesh.pp};
  }
  llvm_unreachable("an order");
}

template <typename Key> RankGroups RankOrder::groupBy(Key key) const {
  llvm::MapVector<std::pair<int64_t, int64_t>, std::vector<int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    groups[key(coordinatesOf(rank))].push_back(rank);
  RankGroups result;
  for (auto &[at, ranks] : groups)
    result.push_back(std::move(ranks));
  return result;
}

RankGroups RankOrder::getTpGroups() const {
  return groupBy([](Coordinates at) { return std::pair(at.pp, at.dp); });
}

RankGroups RankOrder::getTpMinorGroups(int64_t minor) const {
  return groupBy([&](Coordinates at) { return std::pair(at.pp * mesh.dp + at.dp, at.tp / minor); });
}

RankGroups RankOrder::getTpMajorGroups(int64_t minor) const {
  return groupBy([&](Coordinates at) { return std::pair(at.pp * mesh.dp + at.dp, at.tp % minor); });
}

RankGroups RankOrder::getDpGroups() const {
  return groupBy([](Coordinates at) { return std::pair(at.tp, at.pp); });
}

RankGroups RankOrder::getPpGroups() const {
  return groupBy([](Coordinates at) { return std::pair(at.tp, at.dp); });
}

RankGroups RankOrder::getStageGroups(llvm::ArrayRef<int64_t> stages) const {
  RankGroups groups = getPpGroups();
  for (std::vector<int64_t> &ranks : groups)
    llvm::erase_if(ranks, [&](int64_t rank) { return !llvm::is_contained(stages, coordinatesOf(rank).pp); });
  return groups;
}

RankGroups RankOrder::getNormGroups(bool overDp) const {
  return groupBy([=](Coordinates at) { return std::pair(overDp ? 0 : at.dp, int64_t(0)); });
}
