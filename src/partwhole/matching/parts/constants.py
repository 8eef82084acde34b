"""Constants of matching two parts, all in one place; lengths are in √area of the whole that is assumed.

The rule of overlap was fitted with these values: see `partwhole.matching.parts.rule`.
"""

from __future__ import annotations

# the built-in model whose features the rule of overlap was fitted with
PARTS_MODEL = "any-pose"

# --- the size of the whole, which nobody knows: its area, in areas of the larger part; and how many of these are looked at
# closely
WHOLE_AREAS, SIZES_TRIED = (1.0, 1.4, 2.0, 2.8, 4.0), 2

# --- one map each way

# a round trip that ends farther away than about this is no evidence
CYCLE = 0.06
# lateration: so many vertices that are trusted say where one belongs, as far as about this; so many places are looked at
ANCHORS, RADIUS, PLACES, STEPS = 48, 0.15, 48, 3

# --- cues

# radii over which numbers are averaged, and within which distances are compared
CLOSE, NEAR, FAR = 0.06, 0.15, 0.3
# temperature of the soft maps of the round trip, and how near it has to end
ECHO_TEMPERATURE, ECHO_REACH = 0.05, 0.06
# cues that are lengths enter by their logarithms; smaller ones than this say no more
SMALLEST_LENGTH = 0.005
# cues more unusual than this many standard deviations count as this
MOST_UNUSUAL = 4.0

# --- overlap

# a vertex is shared if that is at least as probable as not; where little is sure, from a lower probability on, for the
# largest expected IoU, but not from one below the second
SHARED, LEAST_SHARED = 0.5, 0.2
# odds are averaged over about this, since an overlap has a short border
SMOOTHING = 0.03
# less than this of both parts is hardly anything
PROBABLY_NOTHING = 0.03
# partners that are farther apart than this after rigid alignment are in different poses
MISFIT = 0.05
