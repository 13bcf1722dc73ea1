# Three yielding storeys (kip, in, s); the springs are defined in a file of their own.
wipe
model basic -ndm 1 -ndf 1
source parts/springs.tcl
foreach i {0 1 2 3} { node $i 0.0 }
fix 0 1
foreach i {1 2 3} { mass $i 0.35 }
foreach i {1 2 3} { spring $i [expr 230. - 30.*$i] }
rayleigh 0.4 0.0 0.0 0.0
puts "model of [llength [getNodeTags]] nodes"
