# SPDX-License-Identifier: Apache-2.0
# Names the tools that are missing, before CMake complains of them in its own words.
set(ways "Without root: load a module of your cluster (module avail), or install with conda. Or copy the static program of another machine here: \
packaging/release/README.md.")
if(CMAKE_GENERATOR MATCHES "Makefiles$" AND NOT CMAKE_MAKE_PROGRAM)
  find_program(WHYOOM_MAKE NAMES gmake make)
  if(NOT WHYOOM_MAKE)
    message(FATAL_ERROR "Neither make nor a choice of Ninja: install make, or ninja (Debian: ninja-build) and give -G Ninja. ${ways}")
  endif()
endif()
if(NOT CMAKE_C_COMPILER AND NOT CMAKE_TOOLCHAIN_FILE AND "$ENV{CC}" STREQUAL "")
  find_program(WHYOOM_COMPILER NAMES cc gcc clang icx)
  if(NOT WHYOOM_COMPILER)
    message(FATAL_ERROR "No C compiler: install gcc (Debian: gcc libc6-dev; conda: c-compiler), or name one: -DCMAKE_C_COMPILER=FILE. ${ways}")
  endif()
endif()
