-- Lmod: whyoom/0.1.0.lua in a folder of MODULEPATH; root is the prefix of `cmake --install`.
local root = "/opt/whyoom/0.1.0"

help([[whyoom says why a GPU job ran out of memory, and which settings to change: whyoom slurm-4711.out]])
whatis("Name: whyoom")
whatis("Version: 0.1.0")
whatis("Description: says why a GPU job ran out of memory")
conflict("whyoom")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
