(* Arithmetic of binary64 that rounds to nearest is one in the sense of Floats.v, with u = 2^-53, where
   the ring products of lattice masks and of the hidden split use it: whatever they compute is a multiple
   of 2^-715, and the least numbers of the format are 2^-1074 apart. README.md, "Error", of optimized/masks. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Lattice Floats FloatProducts FloatRuns FloatBounds.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------------- definitions *)
(* x is an integer over 2^k. *)
Definition multiple (C : numClosedFieldType) (k : nat) (x : C) : Prop :=
  exists n : int, x = n%:~R / 2%:R ^+ k.

(* Real and imaginary part are. *)
Definition parts_multiple (C : numClosedFieldType) (k : nat) (x : C) : Prop :=
  multiple k ('Re x) /\ multiple k ('Im x).

(* m 2^e of p bits, over 2^k: the numbers of binary64 are those with p = 53 and k = 1074 that are below
   2^1024. Exponents have no upper end here. *)
Definition float (p k : nat) (C : numClosedFieldType) (x : C) : Prop :=
  exists (m : int) (e : nat), (absz m < 2 ^ p)%N /\ x = m%:~R * 2%:R ^+ e / 2%:R ^+ k.

(* y is a nearest one to x, however ties are broken; or x itself, as is a product in a fused operation. *)
Definition nearest_float (p k : nat) (C : numClosedFieldType) (x y : C) : Prop :=
  y = x \/ float p k y /\ forall z : C, float p k z -> `|y - x| <= `|z - x|.

Definition binary64 : forall C : numClosedFieldType, C -> C -> Prop := nearest_float 53 1074.

(* --------------------------------------------------------------------- of natural numbers *)
(* N is m 2^e, of p bits. *)
Definition short (p N : nat) : Prop := exists m e, (m < 2 ^ p)%N /\ N = (m * 2 ^ e)%N.

Definition distance (M N : nat) : nat := (M - N) + (N - M).

Lemma short_small p N : (N < 2 ^ p)%N -> short p N.
Proof. by exists N, 0%N; rewrite muln1. Qed.

Lemma short_power p e : (0 < p)%N -> short p (2 ^ e)%N.
Proof. by move=> p_gt0; exists 1%N, e; rewrite mul1n -{1}(expn0 2) ltn_exp2l. Qed.

Lemma short_near p N : (0 < p)%N -> exists2 M, short p M & (2 ^ p * distance M N <= N)%N.
Proof.
move=> p_gt0; have [small|large] := ltnP N (2 ^ p).
  by exists N; [exact: short_small|rewrite /distance subnn muln0].
have N_gt0 : (0 < N)%N by apply: leq_trans large; rewrite expn_gt0.
have [low high] := andP (trunc_log_bounds (isT : (1 < 2)%N) N_gt0).
set t := trunc_log 2 N in low high *.
have p_t : (p <= t)%N by exact: trunc_log_max.
(* N is in units of 2^(h + 1), with p bits or p + 1. *)
set h := (t - p)%N.
have t_eq : t = (h + p)%N by rewrite subnK.
set H := (2 ^ h)%N; set P := (2 ^ p)%N.
have H_gt0 : (0 < H)%N by rewrite expn_gt0.
have P_gt0 : (0 < P)%N by rewrite expn_gt0.
have low' : (H * P <= N)%N by rewrite -expnD -t_eq.
have high' : (N < 2 * (H * P))%N by rewrite -expnD -t_eq -expnS.
set m := ((N + H) %/ (2 * H))%N.
have e := divn_eq (N + H) (2 * H); have r_lt : ((N + H) %% (2 * H) < 2 * H)%N by rewrite ltn_mod muln_gt0.
have near : (distance (m * (2 * H)) N <= H)%N.
  rewrite /distance -/m in e *; move: (_ %% _)%N e r_lt => r e r_lt.
  move: (m * (2 * H))%N e => M e; lia.
exists (m * (2 * H))%N; last first.
  by apply: leq_trans low'; rewrite [(H * P)%N]mulnC leq_mul2l near orbT.
have m_le : (m <= P)%N.
  rewrite -ltnS /m ltn_divLR ?muln_gt0 // mulSn.
  have -> : (P * (2 * H) = 2 * (H * P))%N by rewrite mulnC -mulnA.
  by move: high' H_gt0; move: (H * P)%N => HP; lia.
have -> : (2 * H = 2 ^ h.+1)%N by rewrite expnS.
have [m_lt|m_ge] := ltnP m P; first by exists m, h.+1.
have -> : m = P by apply/eqP; rewrite eqn_leq m_le.
by rewrite -expnD; exact: short_power.
Qed.

Lemma short_nearest p N n j M : (0 < p)%N -> N = (n * 2 ^ j)%N -> short p M ->
  (forall Z, short p Z -> (distance M N <= distance Z N)%N) ->
  (2 ^ p * distance M N <= N)%N /\ exists n', M = (n' * 2 ^ j)%N.
Proof.
move=> p_gt0 N_eq M_short M_least; split.
  have [Z Z_short Z_near] := short_near N p_gt0.
  by apply: leq_trans Z_near; rewrite leq_mul2l M_least ?orbT.
have [small|large] := ltnP n (2 ^ p).
  have : (distance M N <= 0)%N.
    by apply: leq_trans (M_least N _) _; [exists n, j|rewrite /distance subnn].
  by rewrite /distance => zero; exists n; rewrite -N_eq; lia.
have W_least := M_least _ (short_power (p + j) p_gt0).
have W_le : (2 ^ (p + j) <= N)%N by rewrite N_eq expnD leq_mul2r large orbT.
have M_ge : (2 ^ (p + j) <= M)%N.
  by move: W_least W_le; rewrite /distance; move: (2 ^ _)%N => W; lia.
case: M_short => m [e [m_lt M_eq]].
have [j_le|e_lt] := leqP j e.
  by exists (m * 2 ^ (e - j))%N; rewrite -mulnA -expnD subnK.
have : (M < 2 ^ (p + j))%N.
  rewrite M_eq expnD; apply: (@leq_trans (2 ^ p * 2 ^ e)%N).
    by rewrite ltn_pmul2r ?expn_gt0.
  by rewrite leq_mul2l leq_exp2l ?(ltnW e_lt) ?orbT.
by rewrite ltnNge M_ge.
Qed.

(* ---------------------------------------------------------------------------- of integers *)
Definition gap (M N : int) : nat := absz (M - N).

Lemma gap_opp M N : gap (- M) (- N) = gap M N.
Proof. by rewrite /gap -opprD abszN. Qed.

Lemma gap_natural (M N : nat) : gap M N = distance M N.
Proof. rewrite /gap /distance; lia. Qed.

Lemma integer_nearest p (n M : int) j (N := n * Posz (2 ^ j)%N) : (0 < p)%N -> short p (absz M) ->
  (forall Z : int, short p (absz Z) -> (gap M N <= gap Z N)%N) ->
  (2 ^ p * gap M N <= absz N)%N /\ exists n' : int, M = n' * Posz (2 ^ j)%N.
Proof.
rewrite {}/N => p_gt0; wlog n_ge0 : n M / 0 <= n => [any|] M_short M_least.
  have [|n_lt] := lerP 0 n; first by move=> n_ge0; exact: any.
  have [||Z Z_short|le [n' M_eq]] := any (- n) (- M).
  - by rewrite oppr_ge0 ltW.
  - by rewrite abszN.
  - by rewrite mulNr gap_opp -[Z]opprK gap_opp M_least // abszN.
  split; first by move: le; rewrite mulNr gap_opp abszN.
  by exists (- n'); rewrite mulNr -M_eq opprK.
case: n n_ge0 M_least => // n _; rewrite -PoszM => M_least.
case: M => [M|M] in M_short M_least *; last first.
  have := M_least 0; rewrite /gap; move: (n * _)%N => N least.
  by have /= := least (short_small (expn_gt0 2 p)); lia.
have [|le [n' M_eq]] := @short_nearest p _ n j M p_gt0 erefl M_short.
  by move=> Z Z_short; rewrite -!gap_natural; exact: M_least.
by rewrite gap_natural; split=> //; exists (Posz n'); rewrite M_eq PoszM.
Qed.

(* ---------------------------------------------------------------------- of numbers of C *)
Section Numbers.
Variable C : numClosedFieldType.
Implicit Types (x y z : C).

Let power_gt0 k : 0 < 2%:R ^+ k :> C.
Proof. by rewrite exprn_gt0 // ltr0n. Qed.
Let power_neq0 k : 2%:R ^+ k != 0 :> C.
Proof. exact: lt0r_neq0. Qed.
Let power_intr k : (Posz (2 ^ k)%N)%:~R = 2%:R ^+ k :> C.
Proof. by rewrite -pmulrn natrX. Qed.

Lemma multiple_int n k : multiple k (n%:~R / 2%:R ^+ k : C).
Proof. by exists n. Qed.

Lemma over_power (n : int) j k : (j <= k)%N ->
  n%:~R / 2%:R ^+ j = (n * Posz (2 ^ (k - j))%N)%:~R / 2%:R ^+ k :> C.
Proof.
by move=> le; rewrite intrM power_intr -{2}(subnKC le) exprD -mulf_div divff // mulr1.
Qed.

Lemma multiple_mono j k x : (j <= k)%N -> multiple j x -> multiple k x.
Proof. by move=> le [n ->]; rewrite (over_power n le); exact: multiple_int. Qed.

Lemma multiple0 k : multiple k (0 : C).
Proof. by exists 0; rewrite mul0r. Qed.

Lemma multipleD k x y : multiple k x -> multiple k y -> multiple k (x + y).
Proof. by case=> m -> [n ->]; exists (m + n); rewrite rmorphD mulrDl. Qed.

Lemma multipleN k x : multiple k x -> multiple k (- x).
Proof. by case=> m ->; exists (- m); rewrite rmorphN mulNr. Qed.

Lemma multipleB k x y : multiple k x -> multiple k y -> multiple k (x - y).
Proof. by move=> x_ok y_ok; apply: multipleD => //; exact: multipleN. Qed.

Lemma multipleM j k x y : multiple j x -> multiple k y -> multiple (j + k) (x * y).
Proof. by case=> m -> [n ->]; exists (m * n); rewrite intrM exprD invfM mulrACA. Qed.

Lemma multiple_real k x : multiple k x -> x \is Num.real.
Proof. by case=> n ->; rewrite rpred_div ?rpredX ?realz // realn. Qed.

Lemma float_integer p k x : float p k x <->
  exists2 M : int, short p (absz M) & x = M%:~R / 2%:R ^+ k.
Proof.
split=> [[m [e [m_lt ->]]]|[M [m [e [m_lt M_eq]]] ->]].
  exists (m * Posz (2 ^ e)%N); last by rewrite intrM power_intr.
  by exists (absz m), e; rewrite abszM.
exists ((-1) ^+ (M < 0)%R * Posz m), e; split; first by rewrite abszMsign.
by rewrite -[2%:R ^+ e]power_intr -intrM -mulrA -PoszM -M_eq -intEsign.
Qed.

Lemma norm_gap (M N : int) k :
  `|M%:~R / 2%:R ^+ k - N%:~R / 2%:R ^+ k| = (gap M N)%:R / 2%:R ^+ k :> C.
Proof.
rewrite -mulrBl normrM normfV (gtr0_norm (power_gt0 k)) -rmorphB /=.
by rewrite /gap -intr_norm -natr_absz.
Qed.

(* What rounds a multiple leaves one, within a relative error of 2^-p. *)
Lemma nearest_multiple p k j x y : (0 < p)%N -> (j <= k)%N -> multiple j x -> nearest_float p k x y ->
  multiple j y /\ rounded (2%:R ^- p) x y.
Proof.
move=> p_gt0 le x_ok [->|[]].
  by split=> //; rewrite /rounded subrr normr0 mulr_ge0 // invr_ge0 ltW.
case: x_ok => n; rewrite (over_power n le) => -> /float_integer [M M_short ->] M_least.
have least (Z : int) : short p (absz Z) ->
    (gap M (n * Posz (2 ^ (k - j))%N) <= gap Z (n * Posz (2 ^ (k - j))%N))%N.
  move=> Z_short; have := M_least (Z%:~R / 2%:R ^+ k).
  rewrite !norm_gap ler_pmul2r ?invr_gt0 // ler_nat; apply.
  by apply/float_integer; exists Z.
have [near [n' M_eq]] := integer_nearest p_gt0 M_short least; split.
  by rewrite M_eq -over_power //; exact: multiple_int.
rewrite /rounded norm_gap normrM normfV (gtr0_norm (power_gt0 k)) mulrA.
rewrite ler_pmul2r ?invr_gt0 // ler_pdivl_mull // -intr_norm -natr_absz -natrX -natrM ler_nat.
exact: near.
Qed.

(* ----------------------------------------------------------------- of complex numbers *)
Lemma parts_rect k x y : multiple k x -> multiple k y -> parts_multiple k (x + 'i * y).
Proof.
move=> x_ok y_ok; have [x_real y_real] := (multiple_real x_ok, multiple_real y_ok).
by split; rewrite ?Re_rect ?Im_rect.
Qed.

Lemma parts_mono j k x : (j <= k)%N -> parts_multiple j x -> parts_multiple k x.
Proof. by move=> le [re im]; split; exact: multiple_mono le _. Qed.

Lemma partsD k x y : parts_multiple k x -> parts_multiple k y -> parts_multiple k (x + y).
Proof. by case=> a b [c d]; split; rewrite raddfD; exact: multipleD. Qed.

Lemma partsB k x y : parts_multiple k x -> parts_multiple k y -> parts_multiple k (x - y).
Proof. by case=> a b [c d]; split; rewrite raddfB; exact: multipleB. Qed.

Lemma parts_conj k x : parts_multiple k x -> parts_multiple k x^*.
Proof. by case=> a b; split; rewrite ?Re_conj ?Im_conj //; exact: multipleN. Qed.

Lemma parts_i k x : parts_multiple k x -> parts_multiple k ('i * x).
Proof.
case=> a b; split; first by rewrite ReMil; exact: multipleN.
by rewrite ImMil.
Qed.
End Numbers.

(* -------------------------------------------------------------------- operations *)
(* Of multiples of 2^-k with k at most 1074. *)
Section Operations.
Variable C : numClosedFieldType.
Let ieee : C -> C -> Prop := @binary64 C.
Let near : C -> C -> Prop := rounded (roundoff C).
Implicit Types (a w x y z : C).

Definition holds (k : nat) : Prop := (k <= 1074)%N.

Lemma binary64_multiple k x y : holds k -> multiple k x -> ieee x y -> multiple k y /\ near x y.
Proof. exact: nearest_multiple. Qed.

Lemma sum_multiple k x y : holds k -> parts_multiple k x -> parts_rounded ieee x y ->
  parts_multiple k y /\ parts_rounded near x y.
Proof.
move=> le [re im] [re_ok im_ok].
have [] := binary64_multiple le re re_ok; have [] := binary64_multiple le im im_ok.
by [].
Qed.

Lemma two_multiple k x y z : holds k -> multiple k x -> multiple k y -> sum_of_two ieee x y z ->
  multiple k z /\ sum_of_two near x y z.
Proof.
move=> le x_ok y_ok [p [q [p_x q_y z_pq]]].
have [p_ok p_near] := binary64_multiple le x_ok p_x.
have [q_ok q_near] := binary64_multiple le y_ok q_y.
have [z_ok z_near] := binary64_multiple le (multipleD p_ok q_ok) z_pq.
by split=> //; exists p, q.
Qed.

Lemma times_multiple j k a w z : holds (j + k) -> parts_multiple j a -> parts_multiple k w ->
  times ieee a w z -> parts_multiple (j + k) z /\ times near a w z.
Proof.
move=> le [a_re a_im] [w_re w_im] [re im].
have [re_ok re_near] := two_multiple le (multipleM a_re w_re) (multipleN (multipleM a_im w_im)) re.
have [im_ok im_near] := two_multiple le (multipleM a_re w_im) (multipleM a_im w_re) im.
by [].
Qed.

Lemma accumulate_multiple k (terms : seq C) : holds k -> (forall x, x \in terms -> multiple k x) ->
  forall s z, multiple k s -> accumulate ieee s terms z -> multiple k z /\ accumulate near s terms z.
Proof.
move=> le; elim: terms => [|x rest IH] terms_ok s z s_ok; first by move=> /= ->.
case=> p [t [p_x t_sp z_rest]].
have [p_ok p_near] := binary64_multiple le (terms_ok x (mem_head _ _)) p_x.
have [t_ok t_near] := binary64_multiple le (multipleD s_ok p_ok) t_sp.
have [|z_ok z_near] := IH _ t z t_ok z_rest.
  by move=> y y_in; apply: terms_ok; rewrite inE y_in orbT.
by split=> //; exists p, t.
Qed.

Lemma sum_of_products_multiple k (terms : seq C) z : holds k ->
  (forall x, x \in terms -> multiple k x) -> sum_of_products ieee terms z ->
  multiple k z /\ sum_of_products near terms z.
Proof.
move=> le; case: terms => [|x rest] terms_ok; first by move=> /= ->; split=> //; exact: multiple0.
case=> p p_x z_rest.
have [p_ok p_near] := binary64_multiple le (terms_ok x (mem_head _ _)) p_x.
have [|z_ok z_near] := accumulate_multiple le _ p_ok z_rest.
  by move=> y y_in; apply: terms_ok; rewrite inE y_in orbT.
by split=> //; exists p.
Qed.

Section Point.
Variables (d j k : nat) (x s : 'I_d -> C).
Hypothesis le : holds (j + k).
Hypothesis x_ok : forall l, parts_multiple j (x l).
Hypothesis s_ok : forall l, parts_multiple k (s l).

Lemma four_sums_multiple z : point_by_four_sums ieee x s z ->
  parts_multiple (j + k) z /\ point_by_four_sums near x s z.
Proof.
have sum (f g : C -> C) y : (forall l, multiple j (f (x l))) -> (forall l, multiple k (g (s l))) ->
    sum_of_products ieee [seq f (x l) * g (s l) | l <- enum 'I_d] y ->
    multiple (j + k) y /\ sum_of_products near [seq f (x l) * g (s l) | l <- enum 'I_d] y.
  move=> f_ok g_ok; apply: sum_of_products_multiple => // _ /mapP [l _ ->]; exact: multipleM.
have re_x l : multiple j ('Re (x l)) by case: (x_ok l).
have im_x l : multiple j ('Im (x l)) by case: (x_ok l).
have re_s l : multiple k ('Re (s l)) by case: (s_ok l).
have im_s l : multiple k ('Im (s l)) by case: (s_ok l).
case=> rr [ii [ri [ir [[rr_y ii_y ri_y ir_y] [re im]]]]].
have [rr_ok rr_near] := sum _ _ _ re_x re_s rr_y; have [ii_ok ii_near] := sum _ _ _ im_x im_s ii_y.
have [ri_ok ri_near] := sum _ _ _ re_x im_s ri_y; have [ir_ok ir_near] := sum _ _ _ im_x re_s ir_y.
have [re_ok re_near] := binary64_multiple le (multipleB rr_ok ii_ok) re.
have [im_ok im_near] := binary64_multiple le (multipleD ri_ok ir_ok) im.
by split=> //; exists rr, ii, ri, ir.
Qed.

Lemma two_sums_multiple z : point_by_two_sums ieee x s z ->
  parts_multiple (j + k) z /\ point_by_two_sums near x s z.
Proof.
have sum (F G : 'I_d -> C) y : (forall l, multiple (j + k) (F l)) ->
    (forall l, multiple (j + k) (G l)) ->
    sum_of_products ieee (flatten [seq [:: F l; G l] | l <- enum 'I_d]) y ->
    multiple (j + k) y /\ sum_of_products near (flatten [seq [:: F l; G l] | l <- enum 'I_d]) y.
  move=> F_ok G_ok; apply: sum_of_products_multiple => // t /flatten_mapP [l _].
  by rewrite !inE => /orP [] /eqP ->.
case=> re im; have [|| re_ok re_near] := sum _ _ _ _ _ re.
- by move=> l; case: (x_ok l) (s_ok l) => a b [c e]; exact: multipleM.
- by move=> l; case: (x_ok l) (s_ok l) => a b [c e]; apply: multipleN; exact: multipleM.
have [|| im_ok im_near] := sum _ _ _ _ _ im => //.
- by move=> l; case: (x_ok l) (s_ok l) => a b [c e]; exact: multipleM.
- by move=> l; case: (x_ok l) (s_ok l) => a b [c e]; exact: multipleM.
Qed.
End Point.
End Operations.

(* --------------------------------------------------------------------- transform *)
(* What holds of a sum and of a product with a root holds of the transform: `grid k` of multiples of
   2^-k, which a product with a root makes finer by r, down to 2^-limit. *)
Section Transform.
Variables (C : numClosedFieldType) (r limit : nat) (sum sum' : C -> C -> Prop).
Variables by_root by_root' over_root over_root' i_over_root i_over_root' : nat -> C -> C -> Prop.
Let grid : nat -> C -> Prop := @parts_multiple C.
Hypothesis sum_ok : forall k x y, (k <= limit)%N -> grid k x -> sum x y -> grid k y /\ sum' x y.
Let becomes (product product' : nat -> C -> C -> Prop) : Prop := forall k e x y,
  (k + r <= limit)%N -> grid k x -> product e x y -> grid (k + r) y /\ product' e x y.
Hypothesis by_root_ok : becomes by_root by_root'.
Hypothesis over_root_ok : becomes over_root over_root'.
Hypothesis i_over_root_ok : becomes i_over_root i_over_root'.
Implicit Types x y z : nat -> C.

Definition grids (n k : nat) x : Prop := forall i, (i < n)%N -> grid k (x i).

Let finer k (a : C) : grid k a -> grid (k + r) a.
Proof. by apply: parts_mono; exact: leq_addr. Qed.

Lemma split_by_four_grids k e x y : (k + r <= limit)%N -> grids 4 k x ->
  split_by_four sum by_root e x y -> grids 4 (k + r) y /\ split_by_four sum' by_root' e x y.
Proof.
move=> le x_ok [wb [wc [wd [even [other_even [odd [other_odd
  [[wb_x wc_x wd_x] [[even_x other_even_x odd_x other_odd_x] [y0 y1 y2 y3]]]]]]]]]].
have [wb_ok wb'] := by_root_ok le (x_ok 1%N isT) wb_x.
have [wc_ok wc'] := by_root_ok le (x_ok 2%N isT) wc_x.
have [wd_ok wd'] := by_root_ok le (x_ok 3%N isT) wd_x.
have x0_ok := finer (x_ok 0%N isT).
have [even_ok even'] := sum_ok le (partsD x0_ok wc_ok) even_x.
have [other_even_ok other_even'] := sum_ok le (partsB x0_ok wc_ok) other_even_x.
have [odd_ok odd'] := sum_ok le (partsD wb_ok wd_ok) odd_x.
have [other_odd_ok other_odd'] := sum_ok le (partsB wb_ok wd_ok) other_odd_x.
have [y0_ok y0'] := sum_ok le (partsD even_ok odd_ok) y0.
have [y1_ok y1'] := sum_ok le (partsB even_ok odd_ok) y1.
have [y2_ok y2'] := sum_ok le (partsD other_even_ok (parts_i other_odd_ok)) y2.
have [y3_ok y3'] := sum_ok le (partsB other_even_ok (parts_i other_odd_ok)) y3.
split; first by case=> [|[|[|[|]]]].
by exists wb, wc, wd, even, other_even, odd, other_odd; split; [|split].
Qed.

Lemma join_by_four_grids k e x y : (k + r <= limit)%N -> grids 4 k x ->
  join_by_four sum over_root e x y -> grids 4 (k + r) y /\ join_by_four sum' over_root' e x y.
Proof.
move=> le x_ok [even [odd [other_even [i_other_odd [b [c [d
  [[even_x odd_x other_even_x other_odd_x] [[y0 b_x c_x d_x] [y1 y2 y3]]]]]]]]]].
have le' : (k <= limit)%N by apply: leq_trans le; exact: leq_addr.
have [even_ok even'] := sum_ok le' (partsD (x_ok 0%N isT) (x_ok 1%N isT)) even_x.
have [odd_ok odd'] := sum_ok le' (partsB (x_ok 0%N isT) (x_ok 1%N isT)) odd_x.
have [other_even_ok other_even'] := sum_ok le' (partsD (x_ok 2%N isT) (x_ok 3%N isT)) other_even_x.
have [other_odd_ok other_odd'] := sum_ok le' (partsB (x_ok 2%N isT) (x_ok 3%N isT)) other_odd_x.
have [y0_ok y0'] := sum_ok le' (partsD even_ok other_even_ok) y0.
have [b_ok b'] := sum_ok le' (partsB odd_ok (parts_i other_odd_ok)) b_x.
have [c_ok c'] := sum_ok le' (partsB even_ok other_even_ok) c_x.
have [d_ok d'] := sum_ok le' (partsD odd_ok (parts_i other_odd_ok)) d_x.
have [y1_ok y1'] := over_root_ok le b_ok y1.
have [y2_ok y2'] := over_root_ok le c_ok y2.
have [y3_ok y3'] := over_root_ok le d_ok y3.
split; first by case=> [_|[|[|[|]]]] //; exact: finer.
by exists even, odd, other_even, i_other_odd, b, c, d; split; [|split].
Qed.

Lemma split_by_two_grids k s turned x y : (k + r <= limit)%N -> grids 2 k x ->
  split_by_two sum by_root s turned x y ->
  grids 2 (k + r) y /\ split_by_two sum' by_root' s turned x y.
Proof.
move=> le x_ok [t [t_x [y0 y1]]].
have [t_ok t'] := by_root_ok le (x_ok 1%N isT) t_x.
have x0_ok := finer (x_ok 0%N isT).
have t_turned : grid (k + r) (if turned then 'i * t else t).
  by case: turned {y0 y1 t_x t'}; [exact: parts_i|].
have [y0_ok y0'] := sum_ok le (partsD x0_ok t_turned) y0.
have [y1_ok y1'] := sum_ok le (partsB x0_ok t_turned) y1.
by split; [case=> [|[|]]|exists t].
Qed.

Lemma join_by_two_grids k s turned x y : (k + r <= limit)%N -> grids 2 k x ->
  join_by_two sum over_root i_over_root s turned x y ->
  grids 2 (k + r) y /\ join_by_two sum' over_root' i_over_root' s turned x y.
Proof.
move=> le x_ok [y0 [b [b_x y1]]].
have le' : (k <= limit)%N by apply: leq_trans le; exact: leq_addr.
have [y0_ok y0'] := sum_ok le' (partsD (x_ok 0%N isT) (x_ok 1%N isT)) y0.
have differ : grid k (if turned then x 1%N - x 0%N else x 0%N - x 1%N).
  by case: turned {b_x y1}; apply: partsB; exact: x_ok.
have [b_ok b'] := sum_ok le' differ b_x.
have [y1_ok y1'] : grid (k + r) (y 1%N)
    /\ (if turned then i_over_root' else over_root') (last_root s turned) b (y 1%N).
  by case: turned {b_x b' differ} y1; [exact: i_over_root_ok|exact: over_root_ok].
by split; [case=> [_|[|]] //; exact: finer|split=> //; exists b].
Qed.

(* Entries and quarters of a vector. *)
Lemma grids_entries m k x : (0 < m)%N ->
  grids (4 * m) k x <-> forall j, (j < m)%N -> grids 4 k (entry m j x).
Proof.
move=> m_gt0; split=> [x_ok j j_lt q q_lt|x_ok i i_lt]; first by apply: x_ok; exact: in_block.
by rewrite (divn_eq i m); apply: x_ok; rewrite ?ltn_mod ?ltn_divLR.
Qed.

Lemma grids_quarters m k x : (0 < m)%N ->
  grids (4 * m) k x <-> forall q, (q < 4)%N -> grids m k (quarter m q x).
Proof.
move=> m_gt0; split=> [x_ok q q_lt j j_lt|x_ok i i_lt]; first by apply: x_ok; exact: in_block.
by rewrite (divn_eq i m); apply: x_ok; rewrite ?ltn_mod ?ltn_divLR.
Qed.

Lemma forward_grids l : forall k s turned x y, (k + l.+1 * r <= limit)%N -> grids (size_of l) k x ->
  forward sum by_root l s turned x y ->
  grids (size_of l) (k + l.+1 * r) y /\ forward sum' by_root' l s turned x y.
Proof.
elim: l => [|l IH] k s turned x y.
  by rewrite mul1n => le x_ok /=; exact: split_by_two_grids.
rewrite mulSn addnA sizeS => le x_ok [z [z_x y_z]].
have m_gt0 := size_gt0 l; have le' : (k + r <= limit)%N by apply: leq_trans le; exact: leq_addr.
have z_step j (lt : (j < size_of l)%N) :=
  split_by_four_grids le' ((grids_entries k x m_gt0).1 x_ok j lt) (z_x j lt).
have z_ok : grids (4 * size_of l) (k + r) z.
  by apply/grids_entries => // j lt; have [] := z_step j lt.
have y_step q (lt : (q < 4)%N) :=
  IH _ _ _ _ _ le ((grids_quarters _ z m_gt0).1 z_ok q lt) (y_z q lt).
split; first by apply/grids_quarters => // q lt; have [] := y_step q lt.
by exists z; split=> [j lt|q lt]; [have [] := z_step j lt|have [] := y_step q lt].
Qed.

Lemma inverse_grids l : forall k s turned x y, (k + l.+1 * r <= limit)%N -> grids (size_of l) k x ->
  inverse sum over_root i_over_root l s turned x y ->
  grids (size_of l) (k + l.+1 * r) y /\ inverse sum' over_root' i_over_root' l s turned x y.
Proof.
elim: l => [|l IH] k s turned x y.
  by rewrite mul1n => le x_ok /=; exact: join_by_two_grids.
rewrite mulSnr addnA sizeS => le x_ok [z [z_x y_z]].
have m_gt0 := size_gt0 l; have le' : (k + l.+1 * r <= limit)%N by apply: leq_trans le; exact: leq_addr.
have z_step q (lt : (q < 4)%N) :=
  IH _ _ _ _ _ le' ((grids_quarters _ x m_gt0).1 x_ok q lt) (z_x q lt).
have z_ok : grids (4 * size_of l) (k + l.+1 * r) z.
  by apply/grids_quarters => // q lt; have [] := z_step q lt.
have y_step j (lt : (j < size_of l)%N) :=
  join_by_four_grids le ((grids_entries _ z m_gt0).1 z_ok j lt) (y_z j lt).
split; first by apply/grids_entries => // j lt; have [] := y_step j lt.
by exists z; split=> [q lt|j lt]; [have [] := z_step q lt|have [] := y_step j lt].
Qed.
End Transform.

(* ---------------------------------------------------------------------- products *)
Section Products.
Variables (C : numClosedFieldType) (table : nat -> C).
Let ieee : C -> C -> Prop := @binary64 C.
Let near : C -> C -> Prop := rounded (roundoff C).
Hypothesis table_ok : forall e, parts_multiple 59 (table e).

Let by_table (root : nat -> C) : (forall e, parts_multiple 59 (root e)) -> forall k e a z,
  (k + 59 <= 1074)%N -> parts_multiple k a -> times ieee a (root e) z ->
  parts_multiple (k + 59) z /\ times near a (root e) z.
Proof. by move=> root_ok k e a z le a_ok; exact: times_multiple. Qed.
Let conj_ok e : parts_multiple 59 (table e)^*.
Proof. exact: parts_conj. Qed.
Let i_conj_ok e : parts_multiple 59 ('i * (table e)^* ).
Proof. exact: parts_i. Qed.

Lemma forward_multiple k x y : (k + 236 <= 1074)%N -> grids 128 k x -> float_forward ieee table x y ->
  grids 128 (k + 236) y /\ float_forward near table x y.
Proof. exact: (@forward_grids _ 59 1074 _ _ _ _ (@sum_multiple C) (by_table table_ok) 3). Qed.

Lemma inverse_multiple k x y : (k + 236 <= 1074)%N -> grids 128 k x -> float_inverse ieee table x y ->
  grids 128 (k + 236) y /\ float_inverse near table x y.
Proof.
exact: (@inverse_grids _ 59 1074 _ _ _ _ _ _ (@sum_multiple C) (by_table conj_ok)
  (by_table i_conj_ok) 3).
Qed.

(* Elements with integers as coefficients. *)
Lemma integer_grids (a : 'rV[int]_256) : grids 128 0 (complex_form (map_mx intr a : 'rV[C]_256)).
Proof.
have entry i : multiple 0 (rVpoly (map_mx intr a : 'rV[C]_256))`_i.
  rewrite coef_rVpoly; case: insubP => [j _ _|_]; last exact: multiple0.
  by exists (a 0 j); rewrite mxE expr0 divr1.
by move=> i _; exact: parts_rect.
Qed.

Lemma divided_grids (a : 'rV[int]_256) :
  grids 128 7 (fun j => complex_form (map_mx intr a : 'rV[C]_256) j / 128%:R).
Proof.
have power : (128%:R : C)^-1 = 1%:~R / 2%:R ^+ 7 by rewrite mul1r -natrX.
have divided x : multiple 0 x -> multiple 7 (x / 128%:R : C).
  by move=> x_ok; rewrite power; apply: (@multipleM C 0 7) => //; exists 1.
have real : (128%:R : C)^-1 \is Num.real by rewrite rpredV realn.
move=> i lt; have [re im] := integer_grids a lt.
by split; rewrite mulrC ?ReMl ?ImMl // mulrC; exact: divided.
Qed.

Section Point.
Variables (d : nat) (point point' : ('I_d -> C) -> ('I_d -> C) -> C -> Prop).
Hypothesis point_ok : forall x s z, (forall l, parts_multiple 236 (x l)) ->
  (forall l, parts_multiple 243 (s l)) -> point x s z -> parts_multiple 479 z /\ point' x s z.
Variables (A S : 'I_d -> 'rV[int]_256).

Lemma product_multiple y : float_product ieee table point (in_field C A) (in_field C S) y ->
  grids 128 715 y /\ float_product near table point' (in_field C A) (in_field C S) y.
Proof.
case=> A' [S' [z [A_run S_run z_run y_run]]].
have A_ok l := @forward_multiple 0 _ _ isT (integer_grids (A l)) (A_run l).
have S_ok l := @forward_multiple 7 _ _ isT (divided_grids (S l)) (S_run l).
have z_ok k (lt : (k < 128)%N) :=
  point_ok (fun l => (A_ok l).1 k lt) (fun l => (S_ok l).1 k lt) (z_run k lt).
have [y_ok y_near] := @inverse_multiple 479 z y isT (fun k lt => (z_ok k lt).1) y_run.
split=> //; exists A', S', z; split=> // [l|l|k lt]; by [case: (A_ok l)|case: (S_ok l)|case: (z_ok k lt)].
Qed.
End Point.

(* The claims on the parameter sets hold of binary64. *)
Theorem binary64_four_sums d (A S : 'I_d -> 'rV[int]_256) y :
  float_product ieee table (point_by_four_sums ieee) (in_field C A) (in_field C S) y ->
  float_product near table (point_by_four_sums near) (in_field C A) (in_field C S) y.
Proof.
case/(@product_multiple d _ (point_by_four_sums near)) => // x s z x_ok s_ok.
exact: (@four_sums_multiple C d 236 243 x s isT x_ok s_ok z).
Qed.

Theorem binary64_two_sums d (A S : 'I_d -> 'rV[int]_256) y :
  float_product ieee table (point_by_two_sums ieee) (in_field C A) (in_field C S) y ->
  float_product near table (point_by_two_sums near) (in_field C A) (in_field C S) y.
Proof.
case/(@product_multiple d _ (point_by_two_sums near)) => // x s z x_ok s_ok.
exact: (@two_sums_multiple C d 236 243 x s isT x_ok s_ok z).
Qed.
End Products.
