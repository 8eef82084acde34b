"""Constants of the search, all in one place. They were fixed on training pairs; `docs/lab-notebook.md` says how.

Lengths are in √area of the whole. The rule of confidence was fitted with these values: see
`partwhole.matching.confidence.rule`.
"""

from __future__ import annotations

# --- which candidates are tried

# yaws while the vertical is looked for; all of them once it is found
FEW_YAWS = 4
# vertices that show which yaws are worth a closer look, and by how much a score must be worse to be dropped
SAMPLED_VERTICES, HOPELESS = 700, 1.0
# this many of the best candidates are aligned
ALIGNED_CANDIDATES = 2
# and at least this often: the position of a scan is not known, and a scan that points any way up lies along no axis
LEAST_ALIGNMENTS, ALIGNMENTS_ANY_WAY_UP = 1, 2
# two maps that differ by this much on average are different maps
DIFFERENT_MAPS = 0.15

# --- place and distances, for features that do not depend on orientation: see `partwhole.matching.search.placement`

# how much nearness counts against the similarity of features, and the distance at which it fades (a and b); and how often the
# map is made, from the second time on with the part aligned
PLACE_WEIGHT, PLACE_WIDTH, PLACE_STEPS = 0.25, 0.25, 3
# of each of so many regions of the whole the most similar vertex is looked at, and the best so many of these
REGIONS, PLACES = 200, 12
# a and b of the tolerance √(a² + (b d)²) of a distance d: poses change distances
DISTANCE_TOLERANCE = (0.03, 0.1)
# vertices all over the part whose places have to agree, and how much agreement counts against the similarity of features: for
# these vertices, and for all others
SAMPLES, SAMPLE_WEIGHT, AGREEMENT_WEIGHT = 150, 2.0, 1.0
# how different similarities must be for a place to be likelier than another, and how often probabilities are computed
AGREEMENT_SHARPNESS, AGREEMENT_STEPS = 0.1, 30

# --- when something else is tried: another vertical, another scale

# distances that differ by more than pose and noise explain; and by so much that the scale they ask for is tried
STRETCHED, OTHER_SCALE = 1.25, 1.15
# another scale, or another vertical than the assumed one, must score better by this much
BETTER = 0.1
# the same for a scale that was not suggested by the distances: a part that fits nowhere fits any scale about as badly
CLEARLY_BETTER = 1.0
# another vertical is tried below this agreement of curvature, or below this share of the best possible score
LOW_AGREEMENT, LOW_SCORE_SHARE = 0.7, 0.9
# below this mean cosine features have found nothing similar, and another scale is tried; it decides nothing for models that
# see orientation, nor for any pair at the right scale that is matched well
UNLIKE = 0.6
# a guessed scale is corrected by at most this factor
LARGEST_CORRECTION = 1.35

# --- landmarks, where they are given; they decide nothing where there are none, and no rule of confidence depends on them.
# Fixed on generated bodies: see `docs/lab-notebook.md`

# how much a place that suits a landmark counts against the similarity of features, a cosine
LANDMARK_WEIGHT = 0.5
# how much a landmark that a map misses counts in its score, beside 10 for the agreement of curvature
LANDMARK_SCORE = 10.0
# vertices nearer than about this follow a landmark in lateration and show whether a map misses it; and how much it counts
# in lateration, where all other anchors together count 1
LANDMARK_REACH, LANDMARK_PULL = 0.15, 0.5
# landmarks whose distances differ by so many tolerances contradict each other
LANDMARK_CONTRADICTS = 3.0
# for rigid starts: how much normals count beside positions, and how far from a line three landmarks have to be
LANDMARK_NORMALS, LANDMARK_SPREAD = 0.1, 0.05
