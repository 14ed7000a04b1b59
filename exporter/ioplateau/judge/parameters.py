"""All numbers of the judge. No other file of this package holds one (tests/judge/test_parameters.py),
but for those of formats, of sentences and of windows that are only shown.

Each comment says what the number is, its unit, what it is used for, and its source:

- physics: it follows from queueing theory, from statistics, or from how the kernel counts;
- document: a provider or the kernel says so;
- measured: with the command or the recordings that are named;
- fitted: tried out. It scores best on request traces (bench/traces.py), on simulated scenarios and on
  devices that have no limit (tests/helpers/wandering_devices.py). Nothing outside says so.

bench/sensitivity.py tells how much each number matters.

Words: a *block* is the time that is judged at once: one tick, or several short ones. The *floor* is the
time a request takes when it does not wait. *Excess* is how much longer it takes, as a share of the
floor: 1.0 is twice the floor. *Waiting* is the mean number of requests that wait (rate x time above the
floor, Little's law). *Spread* and *ripple* are standard deviations as a share of the mean. A *level*
is a rate that stays the same for some blocks. A *ceiling* is a learned limit. Seconds that speak for a
limit are seconds of evidence, whatever the sampling interval.
"""

# -- from evidence to a verdict (belief.py)

# Evidence for a limit, in seconds. FULL_SECONDS: it never grows beyond this. ON_SECONDS: from here on the
# verdict is "throttled", until nothing is left. So two ordinary seconds at a limit begin a verdict, and one
# second away from it does not end it. Evidence that leaves no doubt (a very long queue, a very flat level)
# counts FULL_SECONDS at once. A block longer than a second counts for half of FULL_SECONDS at most, and for a
# quarter if it says little; if it leaves no doubt, for all of it. Fitted. Measured with
# tests/helpers/limit_matrix.py: the verdict comes after two ticks.
FULL_SECONDS, ON_SECONDS = 2.5, 1.9

# Seconds: the shortest block; ticks are joined until they last as long. Within less time a rate mostly
# shows how a limiter's window and the sampling overlap. Two such blocks without an answer, or in which
# one NFS call waits for its answer, are a stall. Physics, and half a second with some room for its beat.
BLOCK_SECONDS = 0.45

# -- a limit that was told (known.py)

# Share by which the rate of one block may be off a limit that was told and still be "at" it. The
# tolerance of the limit's source comes on top. Document: providers enforce 0 to 3 % more than they sell,
# and round what they publish. Measured on request traces: with 5 % slow devices are taken for limits.
OFF_LIMIT = 0.045
# Seconds over which a limiter may let requests pass unevenly: its window, or its bucket at the limit's
# rate. By so much what was done in sum may be ahead of the limit or behind it, in seconds at the limit;
# twice as far where everything waits long (STEEP), as buckets of up to one second are sold. For twice as
# long and a block nothing is answered but in a stall, whose end says nothing of a queue.
# Physics: network calculus, rate x time + one burst, https://leboudec.github.io/netcal/
BURST_SECONDS = 0.5
# Share of a limit. With less done in a block
# - the limit is not looked at, unless it was believed to bind before;
# - the block is no gust (LEAST_PART), and no block in a part of which the limit binds. Fitted.
AFAR = 0.35
# Blocks (where blocks are longer than a second: that many seconds). Used as
# - over how many what is outstanding at the looks is held against what is between them;
# - how many blocks are summed up, to see whether their sum follows a limit;
# - how many must follow it where another limit already explains the waiting;
# - how many at one level are booked as time spent at that level;
# - for how many seconds an application must have been at a level without a queue for it to be its own;
# - the seconds for which a limit must have bound before one second is enough to see it again, and before
#   a learned limit is trusted (confidence 0.5);
# - the seconds over which a control group is held against its limit in sum;
# - the fewest values that can show a sharp upper edge, or a sum that keeps to a line;
# - how many levels of each kind are remembered.
# Twice as many are the values that a flow keeps, and the seconds that a doubtful level must last. One
# value in so many may be off a level. Fitted; more than 8 hardly changes anything.
SUM_BLOCKS = 8

# -- what is a queue (signals.py)

# A queue: at least QUEUE_WAITING requests wait on average, and their excess is at least QUEUE_EXCESS.
# QUEUE_WAITING is also asked for
# - of requests that are outstanding at the sample beyond what is in service, and of NFS calls that wait on
#   the client;
# - of waiting times excess, where fewer requests wait: the fewer they are, the longer they must wait.
# QUEUE_EXCESS is used wherever one time is called longer than another:
# - than what this flow itself has shown before;
# - than what its siblings wait: then it waits in a queue of its own;
# - than it should be, so that NFS calls that wait on average count as outstanding;
# - and one rate more than another: if so much more is done and takes no longer, nothing held it back before;
# - below it a request counts as served alone, so that its time is the floor, after LEVEL_LEAST blocks.
# Physics (one request in service, one that waits) and fitted.
QUEUE_WAITING, QUEUE_EXCESS = 1.5, 0.6
# A queue so long that one block of it proves that requests wait: number of requests, and excess. The
# number is also asked for where only a guessed floor says that requests are slow, and of a sum of flows.
# The excess alone means "several times the floor": of one request at a time, too. Fitted.
OVERWHELMING_WAITING, OVERWHELMING_EXCESS = 8.0, 3.0
# Requests that wait on average: of one request at a time it waits for half of its time. Used as
# - the fewest that are a queue: a steady one (LEAST_PART), or one that waits long (OVERWHELMING_EXCESS);
# - fewer than this: nobody waits, so that a rate that stays shows no limit;
# - of the time at levels within a STEP, what an application must have spent at one for it to be its own;
# - share of a rate's change below which the time of a request has not changed with it;
# - share of another rate's spread below which one is the flatter of the two (sides.Side);
# - share of the variance of a stripe's members, each by itself, that their sum must have to be flat since they are;
# - share of a request's time that its bytes may need at a told limit, if that time is to be a floor;
# - the least part of a block for which a disk is busy if requests wait all of it: where Linux 5.7 to 6.9 lose
#   busy time, they do at arrivals and not at completions, of which there are as many;
# - of what is in service on average, the most that a look may find outstanding where no queue stands;
# - of what is outstanding at the looks, the least that must be so between them on a disk that counts as busy all
#   the time. Measured on Linux 6.18: 64 at the looks, 24 between, and it called the disk 100 % busy.
# Physics: Little's law.
SHARE_WAITING = 0.5
# A fifth: the least part of a whole that counts. Used as
# - share of a sum's operations whose flows must wait before the sum is said to wait;
# - share of an NFS call's time that must pass on the client before slots are blamed;
# - share of time that a single worker must wait;
# - excess from which on a steady queue of few requests counts, and a direction is not served at once;
# - share of time in which a flow bound by latency, or by one request at a time that waits, may have nothing
#   outstanding;
# - share of a total of time that the kernel's unit may be, before requests are too few for a floor;
# - share of a block above which a request's time says nothing of late looks;
# - share of the time without a queue that an application must have spent at a level of its own;
# - by which a request's time must rise in a line at a level of the application's own, for a limit to be there;
# - from which on a rate is quite another, and a request's time and size no longer the same (waits.WaitTimes.as_long);
# - share by which more may be outstanding at the looks than between them, before it comes in step with them;
# - share of a client's calls that may be another mount's, and its calls on the wire still be this one's;
# - share of the longer of two waits by which the shorter may be less and both still be one queue's;
# - seconds' worth of a level that must be missing in a dip before they count against it (standing.Standing);
# - seconds of evidence lost in a second off the limit, while everything still waits long (STEEP), the rate does
#   not stand still more than a STEP below, and no more was done in sum than the limit and its bucket allow:
#   buffered writes come in gusts. Where a disk's queue was counted at both ticks it is half of one, as a
#   limit lets pass all it allows then; of a learned one only once more is missing than a burst, and the rate
#   moves. Otherwise a second off the limit loses one second, and a second near it in which nobody waits, or few
#   do below what is sold, half of one;
# - what a second at a control group's limit counts less than one, as it cannot be seen whether the group
#   waits: so the verdict comes in the third second and not in the second.
# Fitted.
LEAST_PART = 0.2
# Times the mean number of requests in service that may be outstanding at the moment of the sample without
# any waiting. Physics: that number is Poisson distributed, and for means of 2 and more hardly ever
# exceeds three times its mean.
IN_SERVICE = 3.0
# Excess that a device without a limit does not keep up for long; twice as much no device does. Above it
# - a limiter's bucket is given twice the BURST_SECONDS;
# - a second off the limit counts against it by LEAST_PART only;
# - two requests at a time are as good a proof as many;
# - NFS calls wait at the server, so that more slots would bring no more, however even their number is;
# - (twice as much) a level of one direction needs no more proof than one of both;
# - a server's own cache may add STEP to what is done. Fitted.
STEEP = 5.0
# Share by which rate and time per request may change from one block to the next while both "stand
# still", and the spread up to which a member of a stripe stands by itself. It is also the width of the steps in
# which levels are told apart: two values no more than two steps apart are one level, and requests whose size
# spreads no more are of one size. Fitted. And the share
# of a control group's limit by which its sum over some seconds may be less while it is held: measured with
# tests/live/test_cgroup_limit.py, two seconds are within 0.3 %.
STANDING = 0.005
# Next to nothing, as a share. Used as
# - part of a block in which a busy device may show as idle: io_ticks moves in jiffies
#   (document: https://docs.kernel.org/admin-guide/iostats.html);
# - part of a block from which on a provider's counter or TCP's "limited by sender" counts;
# - part of a mount's usual rate that still trickles through a stall;
# - calls that other calls may have on the wire on average, and those at the looks still be the ones awaited;
# - part of what one disk gives up that may be missing from the sum when another takes it. Fitted.
LITTLE = 0.08
# Seconds until things have settled. Used as
# - how long a flow must be watched without a gap before something new is learned of it;
# - how long rate and time per request must stand still, and over how long their steps are averaged;
# - how long a mount's usual rate is averaged;
# - how long a sentence stays as it is. Twice as long where nobody waits;
# - half of the time for which nobody may have looked, and what held then and holds now has held all the time;
# - half of the time for which no read or write is answered before a server is silent that answers other calls;
# - half of the time after which looking for a limit once more counts as another try. Fitted.
SETTLED_SECONDS = 5.0

# -- how flat is a rate (window.py)

# Spread of a rate that a limiter holds, from block to block. An application that is not held back may
# have twice as much at its own pace. In blocks of several seconds it is less (window.averaged): a level that
# ripples more is held against what averages out as much (learned._usual_spread), and what comes back to
# one must come nearer to it. Measured with tests/helpers/limit_matrix.py: 0.1 to 2 %.
RIPPLE = 0.012
# Share by which two rates may differ and still be the same level: of a ceiling met before, or of a rate
# that was held without waiting. Computed: one step between levels, and a limiter's ripple on top.
SAME_LEVEL = STANDING + RIPPLE
# Share by which a rate must change for the change to mean something. Used as
# - from two blocks in a row that are so far off, another level begins;
# - a rate so far above a level does not stand at that level's limit;
# - what a server's cache or a kernel's time slice may add to a limit: a filer answers some reads from
#   memory (measured: the NFS recordings of tests/machines), blk-throttle works in slices of 100 ms;
# - so near a told limit the time of a request is not taken for its floor;
# - what stands still further below a told limit than that is held there by something else;
# - how steady the share of cached reads that miss the cache must be;
# - the least distance between two limits that somebody bought (document: each of Azure's disk sizes has
#   1.2 to 2.2 times the limits of the one below, but for the IOPS of the two largest).
STEP = 0.12
# Share by which a value is off a level. Used as
# - spread of what is no limiter: the likelihood of a limit is measured against it, and a sum that ripples
#   more does not show what a limit counts (flushes.py);
# - a block so far off is a dip, or another demand;
# - a rate so far above a limit has outgrown it, and what is beyond it counts against the limit;
# - up to it a rate still stands. Fitted.
OFF_LEVEL = 0.05

# Standard deviations between the fourth decile and the second highest of sixteen values: the upper part of
# a rate says how flat it is, where only what is below it scatters. Mathematics, of the normal distribution:
# statistics.NormalDist().inv_cdf(14.5 / 16) - .inv_cdf(6.5 / 16).
UPPER_SPREADS = 1.55

# -- the time of a request that does not wait: the floor (floors.py)

# Seconds: the unit in which the kernel counts the time of requests, so that a block's total is known no
# better. Half of it is the guess for a request that a host's cache may answer and that was never seen
# without a queue: such a cache answers within one unit, so in half of one on average. What one direction takes that
# is faster shows nothing of the other: a controller's cache answers it.
# Document: diskstats_show(), https://github.com/torvalds/linux/blob/v6.1/block/genhd.c
COUNTED_SECONDS = 0.001
# Seconds in which a floor would rise by its own value, as long as nothing faster is seen; as it rises from
# where it is by then, it doubles in 0.7 of them, which is 2.8 hours. So a disk that was
# replaced by a slower one, or moved, is learned anew within hours. Chosen; no score depends on it.
FLOOR_RISE_SECONDS = 14_400.0
# Bytes per second: a larger request may take as much longer than a smaller one as its additional bytes take
# at this pace, before it counts as waiting. Chosen; no score depends on it.
BYTES_PER_SECOND = 200e6
# Seconds: the guess for a request to a remote disk or filer that was never seen without a queue.
# Chosen. The first requests that are seen alone replace it.
PRIOR_SECONDS = 0.002

# -- a limit that nobody told (learned.py)

# Seconds by which a sample may come early or late. By so much is the length of a block unsure, and the
# rate in it. What ripples no more than that in blocks of a second, and accordingly less in long ones, is as
# flat as can be seen: a device that serves one request after the other evens out, but not so much. Fitted.
SAMPLING_SECONDS = 0.003
# Steps from block to block after which the same ripple is no news: a device's ripple is its own. (One less
# than SUM_BLOCKS where the device serves one request after the other.) Fitted on devices without a limit.
RIPPLE_STEPS = 11
# Log-odds that a flat level is a limit and not chance, before it is learned. ASKED is asked for in any
# case, at one try each second; as much must say that a limit counts writes without data, or does not
# (flushes.py). ASKED_DOUBT is added for each reason to doubt:
# - only a guessed floor says that requests are slow, or that of requests of another size by little;
# - limits were told, and this is another. Half of one less than none where it is close to one of them: that
#   this one was told a little wrong is likelier than a limit anywhere (learned._beside_told);
# - NFS calls wait as long as TCP delays an acknowledgement;
# - the level was left before (standing.Standing.moved);
# - each second's worth of the level that is missing in what was done while many waited (Stands.lose);
# - more than the level was done while nobody waited, and requests never wait for long (learned.Plateau._return);
# - it is a level of reads alone, or of writes (sides.Sides).
# It is also what must speak for the VM rather than for its disks, and for members of a sum that move against
# each other rather than each by itself. ASKED_SHALLOW is added where the queue
# is short. Physics: bounds of a sequential test, https://doi.org/10.1214/aoms/1177731118. Fitted: values.
ASKED, ASKED_DOUBT, ASKED_SHALLOW = 9.0, 6.0, 2.0
# Times the logarithm of the number of tries that is added to ASKED: who looks often finds by chance.
# Fitted on slow devices without a limit: of none was a limit learned in 12 h, with two seeds.
TRY_WEIGHT = 1.5
# The fewest blocks that show anything, and the fewest of other things that are no coincidence:
# - blocks of a level, of a class of requests before its floor is believed, of a steady share of cache
#   misses, of a rate held without waiting or while requests wait as long, and over which members of a sum are
#   compared. Of long blocks two that last as many seconds are a level that was held; for a floor each second
#   counts as one;
# - seconds of a queue that nothing explains, before the verdict is "saturated";
# - seconds' worth of a limit that were done beyond it, before it is no limit until a rate stands still at it;
# - changes from one limit to another within STANDS_HALF_SECONDS, or other limits beside one, that nobody
#   would buy: then they are a device's.
# Twice as many where more certainty is needed, as that of a spread. Physics: a median needs three.
LEVEL_LEAST = 3
# A limit stands at one level whenever requests wait; a slow device does not. STANDS_HALF_SECONDS: after so
# long a second of waiting counts half. STANDS_HERE: what a second at this level counts against a second
# at other levels, up to half or twice as high. What remains of those is added to ASKED, and from twice
# ASKED on the level is no limit. Fitted on devices without a limit and on traces.
STANDS_HALF_SECONDS, STANDS_HERE = 900.0, 0.25
# Blocks with a queue that are kept, to see to which rate they come back: two minutes. For as many seconds of
# waiting it is kept how long requests took at each rate. Over as many blocks is averaged how long they take
# while nobody waits. Half as many levels are kept at which a flow stood while its
# requests waited. Fitted.
VISITS = 120
# Completions per second: with fewer nothing is learned, and a flow without a queue is idle. With as many
# the mean of those of one request at a time is good enough to compare. Physics: of five, one more or less
# is a fifth. No provider sells so little; it is what a server that stalls still answers. A network is idle with
# fewer bytes than as many of LARGE_BYTES: shells and scrapes are, and the least of a catalogue is 19 times that.
LEAST_OPERATIONS = 5.0
# Bytes per request. Where requests have one size, operations and bytes are equally flat. Then a learned
# limit is one of bytes above this size, and one of operations below. Document: at Azure and AWS the
# usual ratio of a volume's two limits.
LARGE_BYTES = 40 * 1024

# -- NFS (blame.py)

# Seconds for which Linux delays an acknowledgement. Calls that wait as long may wait for that, and for no
# limit. Document: TCP_DELACK_MIN, https://github.com/torvalds/linux/blob/v6.1/include/net/tcp.h
ACKNOWLEDGED_SECONDS = 0.04
