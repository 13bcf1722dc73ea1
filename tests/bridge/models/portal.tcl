# A portal with a beam of three elements (N, m, s); procedures, loops and a pattern with a body.
wipe
model BasicBuilder -ndm 2 -ndf 3
set H 3.6; set B 7.2
set E 2.1e11
proc column {tag foot head} {
    global E
    element elasticBeamColumn $tag $foot $head 8.0e-3 $E 9.0e-5 1
}
node 1 0.0 0.0
node 2 $B 0.0
for {set i 0} {$i <= 3} {incr i} {
    node [expr 10 + $i] [expr $B*$i/3.0] $H -mass 1500. 1500. 20.
}
fix 1 1 1 1
fix 2 1 1 0
geomTransf Linear 1
column 1 1 10
column 2 2 13
foreach i {0 1 2} {
    element elasticBeamColumn [expr 5 + $i] [expr 10 + $i] [expr 11 + $i] 1.0e-2 $E 1.5e-4 1
}
pattern Plain 1 Linear {
    load 11 0.0 -2.0e4 0.0
    load 12 0.0 -2.0e4 0.0
}
constraints Plain
integrator LoadControl 0.1
analysis Static
analyze 10
loadConst -time 0.0
wipeAnalysis
set lambda [eigen -fullGenLapack 2]
set w1 [expr sqrt([lindex $lambda 0])]
set w2 [expr sqrt([lindex $lambda 1])]
rayleigh [expr 0.04*$w1*$w2/($w1+$w2)] 0.0 [expr 0.04/($w1+$w2)] 0.0
