# The CUDA kernels, kernels/<Op>.cu, in two forms: a fatbin by nvcc (cubins, and PTX that a driver compiles for other and
# newer devices), and LLVM bitcode for NVVM by clang, in the portable form, for the emulated driver. Device code only; the
# launchers (p3d_kernels_cuda) are plain host code and are always built.
set(P3D_CUDA_OPS AdamW Attention AttentionGradKey AttentionGradQuery AttentionGradRows BiasGelu CopyBox CrossEntropy Einsum
  Gather LayerNorm RmsNorm Rope ScatterAdd Sgd Softmax Sort SquaredNorm SumPartials SwiGlu
  CACHE INTERNAL "")
set(P3D_CUDA_DIR ${CMAKE_CURRENT_BINARY_DIR}/cuda CACHE INTERNAL "") # <Op>.fatbin, <Op>.bc, <Op>.log
file(MAKE_DIRECTORY ${P3D_CUDA_DIR})
file(GLOB headers CONFIGURE_DEPENDS *.cuh AttentionTiling.h CudaArguments.h)

add_library(p3d_kernels_cuda STATIC
  launch/Attention.cpp launch/CopyBox.cpp launch/Einsum.cpp launch/Fused.cpp launch/Index.cpp launch/Launch.cpp launch/Norm.cpp
  launch/Optimizer.cpp launch/Softmax.cpp)
target_compile_options(p3d_kernels_cuda PRIVATE -O2 -Wall)
target_link_libraries(p3d_kernels_cuda PUBLIC p3d_kernels_cpu) # the plans of einsum

# Bitcode needs no CUDA toolkit: the portable form includes none of its headers.
find_program(P3D_CLANG NAMES clang-19)
if(P3D_CLANG)
  foreach(op ${P3D_CUDA_OPS})
    set(bitcode ${P3D_CUDA_DIR}/${op}.bc)
    add_custom_command(OUTPUT ${bitcode}
      COMMAND ${P3D_CLANG} -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx78 -nocudainc -nocudalib -emit-llvm -c -O2
              -std=c++17 -Wall -Wno-unknown-cuda-version -Wno-pass-failed -DP3D_PORTABLE -I ${CMAKE_SOURCE_DIR}
              -o ${bitcode} ${CMAKE_CURRENT_SOURCE_DIR}/${op}.cu
      DEPENDS ${op}.cu ${headers}
      COMMENT "Compiling ${op}.cu for the emulator")
    list(APPEND bitcodes ${bitcode})
  endforeach()
  add_custom_target(p3d_cuda_bitcode ALL DEPENDS ${bitcodes})
else()
  message(STATUS "kernels: no bitcode of the CUDA kernels: clang-19 was not found")
endif()

find_program(P3D_NVCC nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(NOT P3D_NVCC)
  message(STATUS "kernels: the CUDA kernels are left out: nvcc was not found")
  return()
endif()
set(P3D_CUDA_ARCHITECTURES 80 90 100 CACHE STRING "devices that the CUDA kernels are compiled for")
# One PTX, of the first architecture, is assembled for each: the kernels use nothing newer, and the front end runs once.
list(GET P3D_CUDA_ARCHITECTURES 0 oldest)
list(TRANSFORM P3D_CUDA_ARCHITECTURES PREPEND sm_ OUTPUT_VARIABLE codes)
list(JOIN codes "," codes)
foreach(op ${P3D_CUDA_OPS})
  set(fatbin ${P3D_CUDA_DIR}/${op}.fatbin)
  add_custom_command(OUTPUT ${fatbin} ${P3D_CUDA_DIR}/${op}.log
    COMMAND ${CMAKE_COMMAND} -DLOG=${P3D_CUDA_DIR}/${op}.log -P ${CMAKE_CURRENT_SOURCE_DIR}/CompileCuda.cmake --
            ${P3D_NVCC} -fatbin -O3 -std=c++17 -I ${CMAKE_SOURCE_DIR} -Xptxas -v -Xfatbin -compress-all
            -gencode "arch=compute_${oldest},code=[${codes},compute_${oldest}]"
            -o ${fatbin} ${CMAKE_CURRENT_SOURCE_DIR}/${op}.cu
    DEPENDS ${op}.cu ${headers} CompileCuda.cmake
    COMMENT "Compiling ${op}.cu for ${codes}")
  list(APPEND fatbins ${fatbin})
endforeach()
add_custom_target(p3d_cuda_kernels ALL DEPENDS ${fatbins})

# Registers, shared memory, spills and occupancy of every kernel; fails where one spills and its head does not say so.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_custom_target(kernel-resources
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/resources.py ${P3D_CUDA_DIR}
    DEPENDS ${fatbins} resources.py USES_TERMINAL VERBATIM)
endif()
