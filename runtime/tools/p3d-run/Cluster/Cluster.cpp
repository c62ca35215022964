#include "runtime/tools/p3d-run/Cluster/Cluster.h"
#include "runtime/tools/p3d-run/Cluster/Member.h"
#include "runtime/tools/p3d-run/Cluster/Root.h"
#include <unistd.h>

namespace p3d {

std::string hostName() {
  char name[textBytes] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::unique_ptr<Cluster> Cluster::make(const Placement &placement, const Build &build, const Control &control,
                                       const RunFacts &facts) {
  if (placement.isRoot())
    return std::make_unique<Root>(placement, build, control, facts);
  return std::make_unique<Member>(placement, control, facts);
}

} // namespace p3d
