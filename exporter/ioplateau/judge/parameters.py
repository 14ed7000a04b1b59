"""Numbers of the judge: unit, meaning, and where each comes from. There is no number elsewhere in
this package (tests/judge/test_parameters.py); what files, words and windows of display need is theirs.

Sources: *physics* (queueing theory, or how the kernel counts), *document* (of a provider or of the
kernel), *measured* (with the command), *fitted* (chosen by the scores of request traces, of an
examiner's scenarios and of devices without a limit; nothing outside says so). How much each matters:
bench/sensitivity.py tells.
Seconds are seconds of evidence, whatever the sampling interval; ripples and excesses are shares.
"""

# -- blocks

# Seconds of ticks that are judged together at least. Physics: of less time a rate is mostly the beat
# between a limiter's window and the sampling. Two blocks without an answer, or in which one call waits
# for it, are a stall.
BLOCK_SECONDS = 0.45

# -- the integrator: one for every hypothesis

# Seconds of evidence: the most that is remembered, and from where a verdict begins. Two marginal
# seconds begin it, one odd second does not end it; a second of an overwhelming queue, or of a flat
# level, is all the evidence there can be. Fitted; measured live (tests/helpers/limit_matrix.py): two
# ticks to the verdict.
FULL_SECONDS, ON_SECONDS = 2.5, 1.9

# -- a known limit

# Share by which a rate may be off what is sold over one block. Document: enforced 0 to 3 % above what
# is sold, and documentation rounds; a twentieth off, slow devices are taken for limits (measured on
# request traces).
OFF_LIMIT = 0.045
# Seconds at the limit by which a running sum may leave the limit's line: bucket or window, and the
# sampling against it. Physics (network calculus: L t + burst); buckets of 10 ms to 1 s are sold: twice
# as many where a deep queue leaves no doubt.
BURST_SECONDS = 0.5
# Blocks over which sums are held, which stand at a level, and which another limit's shadow asks
# for (of blocks longer than a second so many seconds do); a level is of twice as many, the most that a
# flow keeps, of which one in so many may be off it, and so many levels are kept. A ceiling is trusted
# after as many seconds, of which we are half sure then. Fitted; more than 8 hardly matter.
SUM_BLOCKS = 8
# Share of a limit below which it needs no look, and no gust of one that binds stands. Fitted.
AFAR = 0.35
# Lost a second while gusts go on; half a second is where nobody waits near the limit, and one away from
# it.
GUST_LOSS = 0.2

# -- what waits

# Requests that wait on average, and their time over the floor: a queue, one that overwhelms (as many
# are asked where only a guess or another class of requests says "slow", or a sum of flows does), and
# one request that waits most of its time. So far over another delay, one is of a queue of its own; and
# requests in service one after the other that take so little more are alone: what they take is the
# floor, and no guess is needed any more after LEVEL_LEAST blocks (physics).
QUEUE_WAITING, QUEUE_EXCESS = 1.5, 0.6
OVERWHELMING_WAITING, OVERWHELMING_EXCESS = 8.0, 3.0
SHARE_WAITING = 0.5
# Share of a sum's requests, or of a call's or a worker's time, that must wait by itself, if others say the
# rest; of a request's time that its bytes may take where it is the device's own; by which latency is over its
# floor, or over this flow's own history, where a queue is of few.
PART_WAITING = 0.2
# Outstanding at a sample beyond what is in service: a device of that rate has its mean in service,
# by chance three times as many (physics: Poisson, for means of 2 and more).
IN_SERVICE = 3.0
# A device alone does not stand this far above its floor for long; twice that far no
# device does.
STEEP = 5.0
# Step of rate and of latency from block to block below which both stand still. Levels are told apart
# in such steps: within two of them they are one.
STANDING = 0.005
# A share that is next to nothing: of time that is not busy, if something is outstanding nearly always, as
# io_ticks moves in jiffies (document: https://docs.kernel.org/admin-guide/iostats.html); of a block, in
# which a provider says that more was asked for or TCP that it could not send more; of what is usual,
# which a server that stalls lets through; of the sum of variances, where a sum of flows has no more:
# independent flows have all of it, those of a shared cap nothing; of what a disk makes room for, which
# the sum may move by meanwhile.
LITTLE = 0.08
# Seconds until something settled: of watching before something new may be learned, of steps before they
# may be no chance and over which they are averaged, of a mount's rate before it is usual. A sentence
# stands for so long where somebody waits, twice as long where nobody does; after twice as long another
# look owes nothing to the one before and makes another try.
SETTLED_SECONDS = 5.0

# -- flatness

# Ripple of a limiter over one block; twice as much an application has at its own pace. Measured
# (tests/helpers/limit_matrix.py): 0.1 to 2 %.
RIPPLE = 0.012
# The same level, of a ceiling met before, or of one held freely: within a step in which levels are told
# apart, and a limiter's ripple on top. Computed from both.
SAME_LEVEL = STANDING + RIPPLE
# A change of this size, twice in a row, begins another level; what rises so far above one does not
# stand at a limit: less may come on top. A filer answers some reads from memory (measured:
# tests/machines, NFS), and blk-throttle enforces in slices of 100 ms, which two readings cut anywhere.
# So near a limit what requests take is no floor, and a share of hidden reads that misses is the same.
# Nobody buys a size that is nearer (document: Azure's sizes of disks are 1.2 to 2.2 times the one below,
# but for the IOPS of the two largest).
STEP = 0.12
# Share by which a value is off a level: a limiter's dip or a late flush, another demand's step, what
# stands nowhere, what outgrew its limit. Beyond what a limit's own ripple does: so much what is no
# limiter ripples, and up to it a rate stands still.
OFF_LEVEL = 0.05
# Spreads of normal values from the fourth decile to the second highest of sixteen.
UPPER_SPREADS = 1.55

# -- the floor

# The kernel counts whole milliseconds of a flow's requests together. Document: diskstats_show().
COUNTED_SECONDS = 0.001
# Seconds in which the floor would double if nothing proved it: a device that was replaced or moved is
# learned anew within hours.
FLOOR_RISE_SECONDS = 14_400.0
# Bytes a second that a larger request costs.
BYTES_PER_SECOND = 200e6
# Seconds of a request nobody has seen unloaded yet: of a remote disk or filer, of a host's cache.
PRIOR_SECONDS, CACHED_PRIOR_SECONDS = 0.002, 0.0005
# Classes of requests, or levels, that are kept.
MOST_KEPT = 64

# -- a level nobody told

# Seconds by which a look may come early or late: so unsure is a block's length, and the rate in it.
SAMPLING_SECONDS = 0.003
# Steps from block to block after which the same ripple is no news: it is the device's own (SUM_BLOCKS
# less one, if that serves one request after the other). Fitted on devices without a limit.
RIPPLE_STEPS = 11
# Log-odds asked of flatness, with a try each second: of chance once in so many hours; more for each
# doubt (only a guess says "slow"; there are known limits, which must be beaten; calls wait as long as an
# acknowledgement; disks may move each by itself), and where little waits. A sequential test's bounds:
# https://doi.org/10.1214/aoms/1177731118
ASKED, ASKED_DOUBT, ASKED_SHALLOW = 9.0, 6.0, 2.0
# What the logarithm of tries adds. Fitted on slow devices without a limit (none of them in 12 h called
# so, with two seeds).
TRY_WEIGHT = 1.5
# Blocks that say something: a stretch at least, steps over which members are compared, a class of
# requests, a level held freely, a share of hidden reads, a queue that nothing explains (seconds of it).
# Steps from one limit to another, or others beside it, that are a device's way and nobody's purchase.
LEVEL_LEAST = 3
# A limit stands at one level: seconds after which a second of waiting counts half, and what a second at
# this level is worth against one elsewhere, up to half or twice as high, which asks for log-odds of one
# more: where that is twice ASKED, a level is none. Fitted on devices whose pace wanders
# (tests/helpers/wandering_devices.py) and on traces.
STANDS_HALF_SECONDS, STANDS_HERE = 900.0, 0.25
# Blocks of waiting that are kept, to tell a level they come back to from what is beside it: two minutes.
VISITS = 120
# Completions a second below which nothing is learned, or idle, and of which on requests of one at a time
# have a mean: of so few one more or less is a fifth, and no provider sells so little: it is what a server
# that stalls lets through.
LEAST_OPERATIONS = 5.0
# Bytes of a request where the usual ratios of bytes to operations cross. Document: Azure, AWS.
LARGE_BYTES = 40 * 1024

# -- several flows on one budget

# One queue, one delay: the ratio within which delays are the same.
NEAR_DELAY = 1.25

# -- NFS

# Seconds for which Linux delays an acknowledgement. Document: TCP_DELACK_MIN, include/net/tcp.h.
ACKNOWLEDGED_SECONDS = 0.04

# -- control groups

# What a second at the limit counts, of which nobody sees that it waits.
GROUP_GAIN = 0.8

# -- words

# Bound by latency: share of time that is busy, and requests outstanding.
LATENCY_BUSY = 0.75
