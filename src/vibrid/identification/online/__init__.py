"""What methods that run sample by sample on measured motion share: the motion, the window, the smoothing."""
