"""The checks of launch files: what wastes GPU hours, found before anything is launched. Pure: text in, findings out."""
