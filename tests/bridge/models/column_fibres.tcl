# A column of fibres with plastic hinges (kip, in, s), in the words of older scripts: bodies in braces.
wipe
model BasicBuilder -ndm 2 -ndf 3
node 1 0.0 0.0
node 2 0.0 120.0
fix 1 1 1 1
mass 2 0.12 0.12 1.0
uniaxialMaterial Concrete01 1 -5.0 -0.004 -4.0 -0.014
uniaxialMaterial Steel02 2 60.0 29000.0 0.01 15.0 0.925 0.15
section Fiber 1 {
    patch quad 1 12 1 -9.0 -9.0 9.0 -9.0 9.0 9.0 -9.0 9.0
    layer straight 2 3 0.8 7.5 -7.5 7.5 7.5
    layer straight 2 3 0.8 -7.5 -7.5 -7.5 7.5
}
geomTransf Linear 1
beamIntegration HingeRadau 1 1 9.0 1 9.0 1
element forceBeamColumn 1 1 2 1 1 -iter 100 1e-14
pattern Plain 1 Linear {
    load 2 0.0 -80.0 0.0
}
constraints Plain
numberer Plain
system FullGeneral
test NormDispIncr 1e-12 50
algorithm Newton
integrator LoadControl 0.1
analysis Static
analyze 10
loadConst -time 0.0
wipeAnalysis
rayleigh 0.3 0.0 5e-4 0.0
