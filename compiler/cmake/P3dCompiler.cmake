# How the compiler's libraries are built against Debian's LLVM/MLIR 19: only the shared MLIR and LLVM are linked
# (a static MLIR library beside them would register every dialect twice).
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19/lib/cmake)
find_package(MLIR 19.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(p3dc_mlir INTERFACE)
target_include_directories(p3dc_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(p3dc_mlir INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(p3dc_mlir INTERFACE -O2 -fno-rtti -fno-exceptions -Wall -Wno-unused-function -Wno-comment)
target_link_libraries(p3dc_mlir INTERFACE MLIR LLVM)

# One precompiled header for every source that includes MLIR: a file then takes 1.4 s instead of 6.
file(WRITE ${CMAKE_BINARY_DIR}/pch/empty.cpp "")
add_library(p3dc_pch OBJECT ${CMAKE_BINARY_DIR}/pch/empty.cpp)
target_link_libraries(p3dc_pch PUBLIC p3dc_mlir)
target_precompile_headers(p3dc_pch PRIVATE ${CMAKE_SOURCE_DIR}/compiler/cmake/Precompiled.h)

# p3dc_library(NAME SOURCES... DEPENDS targets... LINKS libraries...): one static library of the compiler.
# DEPENDS names generated-header targets (p3dc_tablegen) that have to exist before its sources compile.
function(p3dc_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC p3dc_mlir ${arg_LINKS})
  target_precompile_headers(${name} REUSE_FROM p3dc_pch)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# p3dc_executable(NAME SOURCES... LINKS libraries...): a program that includes MLIR's headers.
function(p3dc_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE p3dc_mlir ${arg_LINKS})
  target_precompile_headers(${name} REUSE_FROM p3dc_pch)
  # The header was compiled for libraries: with -fPIE it would not be taken.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
endfunction()

# p3dc_tablegen(TARGET TD OUT1 FLAGS1... [-- OUT2 FLAGS2...]): runs mlir-tblgen on TD; each OUT is named <file>.inc.
function(p3dc_tablegen target td)
  set(outs "")
  set(group "")
  foreach(item ${ARGN} --)
    if(item STREQUAL "--")
      list(GET group 0 out)
      list(REMOVE_AT group 0)
      add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${out}
        COMMAND ${MLIR_TABLEGEN_EXE} ${group} -I ${CMAKE_SOURCE_DIR} -I /usr/lib/llvm-19/include
                ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${CMAKE_CURRENT_BINARY_DIR}/${out} --write-if-changed
                -d ${CMAKE_CURRENT_BINARY_DIR}/${out}.d
        DEPFILE ${CMAKE_CURRENT_BINARY_DIR}/${out}.d
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
        BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/${out}.d
        COMMENT "tablegen ${out}")
      list(APPEND outs ${CMAKE_CURRENT_BINARY_DIR}/${out})
      set(group "")
    else()
      list(APPEND group ${item})
    endif()
  endforeach()
  add_custom_target(${target} DEPENDS ${outs})
endfunction()

# p3dc_dialect(Name prefix): the tablegen of dialects/<Name>: <Name>Dialect.td, <Name>Attrs.td and <Name>Types.td are
# included by <Name>Ops.td; target p3dc_<Name>_gen.
function(p3dc_dialect name prefix)
  p3dc_tablegen(p3dc_${name}_gen ${name}Ops.td
    ${name}Ops.h.inc -gen-op-decls --
    ${name}Ops.cpp.inc -gen-op-defs --
    ${name}Dialect.h.inc -gen-dialect-decls -dialect=${prefix} --
    ${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${prefix} --
    ${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${prefix} --
    ${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${prefix} --
    ${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${prefix} --
    ${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${prefix})
  # The enumerations come from their own file: those of an included dialect would be defined twice.
  set(enums ${name}Attrs.td)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${enums})
    set(enums ${name}Ops.td)
  endif()
  p3dc_tablegen(p3dc_${name}_enums_gen ${enums}
    ${name}Enums.h.inc -gen-enum-decls --
    ${name}Enums.cpp.inc -gen-enum-defs)
  add_dependencies(p3dc_${name}_gen p3dc_${name}_enums_gen)
endfunction()

# p3dc_passes(Phase): the tablegen of passes/<Phase>/Passes.td; target p3dc_<Phase>_passes_gen.
function(p3dc_passes phase)
  p3dc_tablegen(p3dc_${phase}_passes_gen Passes.td Passes.h.inc -gen-pass-decls -name=${phase})
endfunction()
