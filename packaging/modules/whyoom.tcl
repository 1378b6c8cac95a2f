#%Module1.0
# Environment Modules: whyoom/0.1.0 in a folder of MODULEPATH; root is the prefix of `cmake --install`.
set root /opt/whyoom/0.1.0

proc ModulesHelp {} {
    puts stderr "whyoom says why a GPU job ran out of memory, and which settings to change: whyoom slurm-4711.out"
}
module-whatis "says why a GPU job ran out of memory"
conflict whyoom
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
