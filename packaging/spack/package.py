# SPDX-License-Identifier: Apache-2.0
# Put this into packages/whyoom/ of a Spack repository, and whyoom-0.1.0.tar.gz into the present folder; or build a checkout with
# `spack dev-build whyoom@main`.
import os

from spack.package import *


class Whyoom(CMakePackage):
    """Says why a GPU job ran out of memory, and which settings to change."""

    url = f"file://{os.getcwd()}/whyoom-0.1.0.tar.gz"
    manual_download = True

    license("Apache-2.0")

    version("main")
    version("0.1.0")  # its sha256 comes with the archive

    variant("xz", default=True, description="Read logs in xz")
    variant("zstd", default=True, description="Read logs in zstd")
    variant("isal", default=True, description="Read gzip faster")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cjson")
    depends_on("pcre2")
    depends_on("sqlite@3.24:")
    depends_on("zlib-api")
    depends_on("xz", when="+xz")
    depends_on("zstd", when="+zstd")
    depends_on("isa-l", when="+isal")

    def cmake_args(self):
        return [self.define("WHYOOM_TESTS", self.run_tests)]
