#include "compiler/Driver.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  return p3d::runDriver(argc, argv);
}
