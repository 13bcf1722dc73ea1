"""Physics as a penalty: equations integrated over intervals, for motions given by splines or by a network."""
