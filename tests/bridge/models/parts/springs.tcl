proc spring {i k} {
    uniaxialMaterial Steel01 $i [expr 0.35*$k] $k 0.04
    element zeroLength $i [expr $i - 1] $i -mat $i -dir 1
}
