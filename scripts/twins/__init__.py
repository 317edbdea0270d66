"""Programs in pairs, with a fault and without, and the means to time them in turns."""
