"""VTK: legacy text and binary files, and XML files of surfaces (VTP) and of grids (VTU)."""
