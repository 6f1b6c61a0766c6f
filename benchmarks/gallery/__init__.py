"""Pictures of the gallery, registered by the public modules of this folder, which are found by scanning it."""
