"""Constants of confidence; lengths are in √area of the whole.

The rule that computes confidence from cues was fitted with these values. It stores their hash, and refuses others: see
`presupposed` in `partwhole.matching.confidence.rule`.
"""

from __future__ import annotations

# --- what confidence means

# the image of a vertex is correct if it is nearer to the truth than this
RIGHT = 0.05
# a vertex is doubtful below this confidence
DOUBTFUL = 0.5

# --- cues

# radii within which distances are compared
CLOSE, NEAR, FAR = 0.06, 0.12, 0.25
# temperature of the soft map whose spread is a cue
SPREAD_TEMPERATURE = 0.02
# a candidate has half the weight if its score is worse by 0.3 ln 2
RIVAL_SHARPNESS = 0.3
# cues that are lengths enter by their logarithms; smaller values are set to this
SMALLEST_LENGTH = 0.005
# cues are clipped at this many standard deviations
MOST_UNUSUAL = 4.0

# --- the map as a whole

# below this curvature correlation, or above this distortion, few maps are correct
POOR_AGREEMENT, POOR_DISTORTION = 0.5, 0.12
# a map that reverses more than this share of the area is probably a mirror image
MIRRORED = 0.5
# triangles whose image is smaller than this share of their area do not count for the orientation
COLLAPSED = 0.05
# an edge of the part is torn if its ends are farther apart on the whole than this many times its length plus this
TORN_LENGTHS, TORN_SLACK = 3.0, 0.05
# a place is elsewhere if it is farther than the first from the most similar one, and about as similar if its cosine is lower
# by at most the second; a part with more of its area alike elsewhere than the third is nearly symmetric. Chosen on pairs that
# no test uses
ELSEWHERE, ALIKE, NEARLY_SYMMETRIC = 0.3, 0.05, 0.2
# a different map is about as likely if its score is worse by less than this; chosen on training pairs
AS_LIKELY = 0.3
# a map that fits has less than this share of its area doubtful; lateration makes distances agree even where the map is wrong
MOSTLY_DOUBTFUL = 2 / 3
# with fewer vertices, confidence is reduced in proportion to their number
FEW_VERTICES = 100

# --- warnings

# upper limit of the expected error of a vertex, and of a map
LARGEST_ERROR = 0.5
# a map with a larger expected error than the first is probably wrong in places, and than the second as a whole
UNSURE_MAP, WRONG_MAP = 0.05, 0.15
# the first warning is also given if more of the area than this is doubtful
HALF_DOUBTFUL = 0.5
# if both have boundaries and more of the area than this is doubtful, neither may be whole
NEITHER_WHOLE = 0.4
