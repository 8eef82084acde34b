"""How sure a map is: cues at each vertex, the rule that makes confidence of them, doubtful regions."""
