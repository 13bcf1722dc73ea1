"""What users of black boxes would pick instead: four of them, tuned with one budget on the data of a benchmark."""
