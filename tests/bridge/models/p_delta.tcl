# An elastic frame (kip, in, s) whose columns, one of them inclined, stand under loads with P-Delta
wipe
model BasicBuilder -ndm 2 -ndf 3
node 1 0.0 0.0
node 2 265.0 0.0
node 3 0.0 180.0
node 4 240.0 180.0
fix 1 1 1 1
fix 2 1 1 0
mass 2 0.0 0.0 10.0
mass 3 0.4 0.4 20.0
mass 4 0.5 0.5 20.0
geomTransf PDelta 1
geomTransf Linear 2
element elasticBeamColumn 1 1 3 20.0 29000.0 200.0 1
element elasticBeamColumn 2 2 4 20.0 29000.0 300.0 1
element elasticBeamColumn 3 3 4 25.0 29000.0 800.0 2
pattern Plain 1 Linear {
    load 3 2.0 -120.0 0.0
    load 4 0.0 -160.0 0.0
}
constraints Plain
numberer Plain
system FullGeneral
test NormDispIncr 1e-13 100
algorithm Newton
integrator LoadControl 0.1
analysis Static
analyze 10
loadConst -time 0.0
wipeAnalysis
rayleigh 0.4 0.0 5e-4 0.0
