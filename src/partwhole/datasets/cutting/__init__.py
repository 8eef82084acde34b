"""Parts cut from surfaces, and pairs changed: coarser, turned, triangulated anew."""
