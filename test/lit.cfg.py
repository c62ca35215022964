# The IR tests: every .mlir file under test/ with RUN lines. Tools come from the build and from LLVM.
import os

import lit.formats

config.name = "p3dc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "kernels", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.p3dc_build, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.p3dc_build, "bin"), config.llvm_tools, config.environment["PATH"]]
)
# What was built with the CUDA toolkit.
if os.path.exists(os.path.join(config.p3dc_build, "lib", "p3d", "libdevice.10.bc")):
    config.available_features.add("cuda")
# Device programs run on the emulated driver.
emulator = os.path.join(config.p3dc_build, "lib", "emulator")
if os.path.exists(os.path.join(emulator, "libcuda.so.1")):
    config.available_features.add("emulator")
config.substitutions.append(("%{emulated}", f"env LD_LIBRARY_PATH={emulator}"))
