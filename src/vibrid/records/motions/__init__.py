"""Ground motions: synthetic ones, targets, scaling, selection and the similitude of model tests."""
