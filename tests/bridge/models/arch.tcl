# A two-bar truss with a mass and a spring at its top (N, m, s).
wipe
model basic -ndm 2 -ndf 2
node 1 -2.0 0.0
node 2  2.0 0.0
node 3  0.0 1.5
node 4  0.0 0.0
node 5  0.0 1.5
fix 1 1 1; fix 2 1 1; fix 4 1 1; fix 5 1 1
mass 3 400. 400.
uniaxialMaterial Elastic 1 7.0e10
uniaxialMaterial Elastic 2 3.0e6
element truss 1 1 3 5.0e-4 1 -rho 1.35
element truss 2 2 3 4.0e-4 1 -rho 1.08
element truss 3 4 3 1.0e-4 1
element zeroLength 4 5 3 -mat 2 -dir 1
rayleigh 0.6 0.0 0.0 0.0
