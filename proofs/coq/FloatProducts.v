(* The error of a transform, of its inverse and of a product: Floats.v has the definitions. `Add Ring` holds in its
   section alone, so each of the two files makes the tactic `by_ring` for itself. *)
From Coq Require Import ZArith Ring.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Lattice Floats.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Proofs.
Variable C : numClosedFieldType.

(* The tactic `ring` of the Coq distribution, for C. *)
Let T : Type := Num.ClosedField.sort C.
Let add (x y : T) : T := (x : C) + (y : C).
Let mul (x y : T) : T := (x : C) * (y : C).
Let opp (x : T) : T := - (x : C).
Let sub (x y : T) : T := add x (opp y).
Let zero : T := 0 : C.
Let one : T := 1 : C.
Let abs (x : T) : T := `|x : C|.
Let field_ring : ring_theory zero one add mul sub opp eq.
Proof.
split; rewrite /zero /one /add /mul /sub /opp //;
  [exact: add0r|exact: addrC|exact: addrA|exact: mul1r|exact: mulrC|exact: mulrA|exact: mulrDl|].
exact: subrr.
Qed.
Add Ring field_ring : field_ring.

Ltac ring_terms :=
  rewrite ?exprS ?expr0 ?mulrS ?mulr0n;
  repeat match goal with |- context [@GRing.add ?R ?x ?y] =>
    change (@GRing.add R x y) with (add x y) end;
  repeat match goal with |- context [@GRing.mul ?R ?x ?y] =>
    change (@GRing.mul R x y) with (mul x y) end;
  repeat match goal with |- context [@GRing.opp ?R ?x] =>
    change (@GRing.opp R x) with (opp x) end;
  repeat match goal with |- context [GRing.zero ?R] => change (GRing.zero R) with zero end;
  repeat match goal with |- context [GRing.one ?R] => change (GRing.one R) with one end;
  repeat match goal with |- context [ `| ?x | ] => change (`| x |) with (abs x) end;
  match goal with |- @eq _ ?x ?y => change (@eq T x y) end.
Ltac by_ring := ring_terms; ring.

Implicit Types (a b c w x y z : C).

Let i_square : mul 'i 'i = opp one.
Proof. exact: mulCii. Qed.
Ltac by_ring_i := ring_terms; ring [i_square].

Let ge01 : 0 <= 1 :> C.
Proof. exact: ler01. Qed.
Let ge0n n : 0 <= n%:R :> C.
Proof. exact: ler0n. Qed.
#[local] Hint Resolve ge01 ge0n : core.

Lemma size_gt0 l : (0 < size_of l)%N.
Proof. by rewrite muln_gt0 expn_gt0. Qed.
Lemma sizeS l : size_of l.+1 = (4 * size_of l)%N.
Proof. by rewrite /size_of expnS mulnCA. Qed.

Section Exact.
Variable g : C.
Hypothesis g_quarter : g ^+ 128 = 'i.

Lemma i_norm : `|'i : C| = 1.
Proof. by apply/eqP; rewrite -(@eqr_expn2 _ 2) // -normrX sqrCi normrN !normr1 expr1n. Qed.
Lemma g_norm : `|g| = 1.
Proof. by apply/eqP; rewrite -(@eqr_expn2 _ 128) // -normrX g_quarter i_norm expr1n. Qed.
Lemma root_norm e : `|g ^+ e| = 1.
Proof. by rewrite normrX g_norm expr1n. Qed.
Lemma root_conj e : g ^+ e * (g ^+ e)^* = 1.
Proof. by rewrite -normCK root_norm expr1n. Qed.

(* A quarter of a vector of 4 numbers: the value at the q-th root of w^4. *)
Definition unit_of (q : nat) : C := nth 0 [:: 1; -1; 'i; - 'i] q.
Definition split_exact (e : nat) (x : nat -> C) (q : nat) : C :=
  let w := unit_of q * g ^+ e in
  x 0%N + w * x 1%N + w ^+ 2 * x 2%N + w ^+ 3 * x 3%N.
Definition split_all (m e : nat) (x : nat -> C) (i : nat) : C :=
  split_exact e (entry m (i %% m) x) (i %/ m).

Fixpoint values (l s : nat) (x : nat -> C) (k : nat) : C :=
  if l is l'.+1
  then let m := size_of l' in
       values l' (child s (k %/ m)) (quarter m (k %/ m) (split_all m (s %/ 4) x)) (k %% m)
  else if k == 0%N then x 0%N + g ^+ (s %/ 2) * x 1%N else x 0%N - g ^+ (s %/ 2) * x 1%N.

Fixpoint coefficients (l s : nat) (x : nat -> C) (j : nat) : C :=
  if l is l'.+1
  then let m := size_of l' in
       \sum_(q < 4) ((unit_of q * g ^+ (s %/ 4))^* ) ^+ (j %/ m)
                    * coefficients l' (child s q) (quarter m q x) (j %% m)
  else if j == 0%N then x 0%N + x 1%N else (g ^+ (s %/ 2))^* * (x 0%N - x 1%N).

Lemma child_root s q : (q < 4)%N -> g ^+ child s q = unit_of q * g ^+ (s %/ 4).
Proof.
rewrite /child exprD mulrC exprM g_quarter /unit_of.
by case: q => [|[|[|[|//]]]] _ /=; rewrite ?expr0 ?expr1 ?sqrCi // exprS sqrCi mulrN1.
Qed.

Lemma unit_fourth q : (q < 4)%N -> unit_of q ^+ 4 = 1.
Proof. by case: q => [|[|[|[|//]]]] _; rewrite /unit_of /=; by_ring_i. Qed.

(* In steps: by a root, and twice sums. *)
Definition by_roots (e : nat) (x : nat -> C) : nat -> C :=
  nth 0 [:: x 0%N; g ^+ e * x 1%N; g ^+ (2 * e) * x 2%N; g ^+ (3 * e) * x 3%N].
Definition first_sums (x : nat -> C) : nat -> C :=
  nth 0 [:: x 0%N + x 2%N; x 0%N - x 2%N; x 1%N + x 3%N; x 1%N - x 3%N].
Definition second_sums (x : nat -> C) : nat -> C :=
  nth 0 [:: x 0%N + x 2%N; x 0%N - x 2%N; x 1%N + 'i * x 3%N; x 1%N - 'i * x 3%N].

Lemma split_steps e (x : nat -> C) q : (q < 4)%N ->
  split_exact e x q = second_sums (first_sums (by_roots e x)) q.
Proof.
rewrite /split_exact /second_sums /first_sums /by_roots /unit_of /= ![(_ * e)%N]mulnC !exprM.
by case: q => [|[|[|[|//]]]] _ /=; by_ring_i.
Qed.

Ltac four := rewrite /squares !big_ord_recl !big_ord0 /= /bump /=.
Lemma parallelogram a b : `|a + b| ^+ 2 + `|a - b| ^+ 2 = 2%:R * (`|a| ^+ 2 + `|b| ^+ 2).
Proof.
have conjD x y : (x + y)^* = x^* + y^* by rewrite rmorphD.
have conjN x : (- x)^* = - x^* by rewrite rmorphN.
by rewrite !normCK !conjD conjN; by_ring.
Qed.
Lemma norm_i a : `|'i * a| = `|a|.
Proof. by rewrite normrM i_norm mul1r. Qed.

Lemma by_roots_squares e (x : nat -> C) : squares 4 (by_roots e x) = 1 * squares 4 x.
Proof. by rewrite mul1r; four; rewrite !normrM !root_norm !mul1r. Qed.
Lemma first_sums_squares (x : nat -> C) : squares 4 (first_sums x) = 2%:R * squares 4 x.
Proof.
four; have := parallelogram (x 0%N) (x 2%N); have := parallelogram (x 1%N) (x 3%N).
move=> e f; rewrite !addr0 addrA f e; by_ring.
Qed.
Lemma second_sums_squares (x : nat -> C) : squares 4 (second_sums x) = 2%:R * squares 4 x.
Proof.
four; have := parallelogram (x 0%N) (x 2%N); have := parallelogram (x 1%N) ('i * x 3%N).
rewrite norm_i => e f; rewrite !addr0 addrA f e; by_ring.
Qed.

Lemma split_squares e (x : nat -> C) : squares 4 (split_exact e x) = 4%:R * squares 4 x.
Proof.
rewrite (eq_squares (split_steps e x)) second_sums_squares first_sums_squares by_roots_squares.
by by_ring.
Qed.

Lemma split_all_squares m e (x : nat -> C) : (0 < m)%N ->
  squares (4 * m) (split_all m e x) = 4%:R * squares (4 * m) x.
Proof.
move=> m_gt0; rewrite !squares_entries // mulr_sumr; apply: eq_bigr => j _.
rewrite -(split_squares e); apply: eq_squares => q _.
by rewrite /entry /split_all modnMDl modn_small // divnMDl // divn_small // addn0.
Qed.

Lemma split_all_additive m e (a b : nat -> C) i :
  split_all m e (fun j => a j - b j) i = split_all m e a i - split_all m e b i.
Proof. by rewrite /split_all /split_exact /entry; by_ring. Qed.

Lemma values_squares l : forall s (x : nat -> C),
  squares (size_of l) (values l s x) = (size_of l)%:R * squares (size_of l) x.
Proof.
elim: l => [|l IH] s x.
  rewrite /squares !big_ord_recl !big_ord0 /= !addr0 parallelogram !normrM root_norm mul1r.
  by [].
have m_gt0 := size_gt0 l; set e := (s %/ 4)%N; rewrite sizeS squares_blocks //.
transitivity (\sum_(q < 4) (size_of l)%:R
    * squares (size_of l) (quarter (size_of l) q (split_all (size_of l) e x))).
  apply: eq_bigr => q _; rewrite -(IH (child s q)); apply: eq_squares => j lt.
  by rewrite /quarter /= divnMDl // divn_small // addn0 modnMDl modn_small.
by rewrite -mulr_sumr -squares_blocks // split_all_squares // natrM -mulrA mulrCA.
Qed.

Lemma child_ok l s q : (4 * size_of l %| s)%N -> (l < 3)%N -> (q < 4)%N ->
  (size_of l %| child s q)%N /\ (odd q -> (256 <= child s q)%N).
Proof.
move=> l_s l_lt q_lt; split; last first.
  by case: q q_lt => [|[|[|[|//]]]] _ // _; rewrite /child /=; apply: leq_trans (leq_addl _ _).
have four_s : (4 %| s)%N by rewrite (dvdn_trans _ l_s) // dvdn_mulr.
rewrite /child dvdn_add //; last first.
  by rewrite dvdn_mulr // (_ : 128 = 2 * 4 ^ 3)%N // dvdn_pmul2l // dvdn_exp2l // ltnW.
by rewrite -(@dvdn_pmul2l 4) // [(4 * (_ %/ _))%N]mulnC divnK.
Qed.

(* The values are those of the polynomial at the roots of X^(2 4^l) = g^s. *)
Lemma values_at l : forall s k, (k < size_of l)%N -> (size_of l %| s)%N -> (l <= 3)%N ->
  exists2 w : C, w ^+ size_of l = g ^+ s
    & forall x : nat -> C, values l s x k = \sum_(j < size_of l) x j * w ^+ j.
Proof.
elim: l => [|l IH] s k k_lt l_s l_le.
  have half : (g ^+ (s %/ 2)) ^+ 2 = g ^+ s by rewrite -exprM divnK.
  case: k k_lt => [|[|//]] _; [exists (g ^+ (s %/ 2)) => //|exists (- g ^+ (s %/ 2))];
    rewrite ?sqrrN // => x /=; rewrite !big_ord_recl big_ord0 /= /bump /= -[(1 + 0)%N]/1%N;
    by rewrite expr0 expr1; by_ring.
have m_gt0 := size_gt0 l; rewrite sizeS in k_lt l_s *; set m := size_of l in k_lt l_s m_gt0 *.
have q_lt : (k %/ m < 4)%N by rewrite ltn_divLR.
have [m_s _] := child_ok l_s l_le q_lt.
have [w w_m w_ok] := IH _ _ (ltn_pmod k m_gt0) m_s (ltnW l_le).
rewrite child_root // in w_m; exists w => [|x].
  rewrite mulnC exprM w_m exprMn unit_fourth // mul1r -exprM divnK //.
  by rewrite (dvdn_trans _ l_s) // dvdn_mulr.
rewrite /= w_ok (@sum_entries C 4 m (fun j => x j * w ^+ j)) // exchange_big /=.
apply: eq_bigr => j _.
have w_m' : w ^+ m = unit_of (k %/ m) * g ^+ (s %/ 4) := w_m.
rewrite /quarter /split_all -/m modnMDl modn_small // divnMDl // (divn_small (ltn_ord j)) addn0.
rewrite /split_exact /entry -w_m' !big_ord_recl big_ord0 /= /bump /=.
rewrite -![(1 + 0)%N]/1%N -![(1 + 1)%N]/2%N -[(1 + 2)%N]/3%N.
have powers i : w ^+ (i * m + j) = (w ^+ m) ^+ i * w ^+ j by rewrite exprD mulnC exprM.
by rewrite !powers; by_ring.
Qed.

Lemma values_additive l s (a b : nat -> C) k : (k < size_of l)%N -> (size_of l %| s)%N ->
  (l <= 3)%N ->
  values l s (fun j => a j - b j) k = values l s a k - values l s b k.
Proof.
move=> k_lt l_s l_le; have [w _ w_ok] := values_at k_lt l_s l_le.
by rewrite !w_ok -sumrB; apply: eq_bigr => j _; rewrite mulrBl.
Qed.

Lemma eq_coefficients l : forall s (x y : nat -> C) j, (j < size_of l)%N ->
  (forall k, (k < size_of l)%N -> x k = y k) -> coefficients l s x j = coefficients l s y j.
Proof.
elim: l => [|l IH] s x y j j_lt e; first by rewrite /= !e.
rewrite /=; apply: eq_bigr => q _; congr (_ * _); apply: IH => [|k lt].
  by rewrite ltn_mod size_gt0.
rewrite /quarter e // sizeS; have := ltn_ord q; move: (size_of l) lt => m lt q_lt.
by apply: leq_trans (_ : (q * m + m <= _)%N); rewrite ?ltn_add2l // -mulSnr leq_mul2r q_lt orbT.
Qed.

Lemma coefficients_additive l : forall s (a b : nat -> C) j,
  coefficients l s (fun k => a k - b k) j = coefficients l s a j - coefficients l s b j.
Proof.
elim: l => [|l IH] s a b j /=; first by case: ifP => _; by_ring.
by rewrite -sumrB; apply: eq_bigr => q _; rewrite -mulrBr -IH.
Qed.

(* Orthogonality of the four roots. *)
Lemma join_split e (x : nat -> C) p : (p < 4)%N ->
  \sum_(q < 4) ((unit_of q * g ^+ e)^* ) ^+ p * split_exact e x q = 4%:R * x p.
Proof.
rewrite /split_exact !big_ord_recl big_ord0 /= /bump /unit_of /=.
rewrite !rmorphM !rmorphN conjCi rmorph1.
have wv := root_conj e; set w := g ^+ e in wv *; set v := w^* in wv *.
have wv' : mul w v = one by exact: wv.
by case: p => [|[|[|[|//]]]] _ /=; ring_terms; ring [i_square wv'].
Qed.

Lemma coefficients_values l : forall s (x : nat -> C) j, (j < size_of l)%N ->
  coefficients l s (values l s x) j = (size_of l)%:R * x j.
Proof.
elim: l => [|l IH] s x j j_lt.
  have wv := root_conj (s %/ 2); set w := g ^+ _ in wv *.
  have wv' : mul w (w^* ) = one by exact: wv.
  by case: j j_lt => [|[|//]] _ /=; rewrite -/w; ring_terms; ring [wv'].
have m_gt0 := size_gt0 l; rewrite sizeS in j_lt *; set m := size_of l in j_lt m_gt0 *.
have p_lt : (j %/ m < 4)%N by rewrite ltn_divLR.
rewrite [RHS](_ : _ = m%:R * (4%:R * entry m (j %% m) x (j %/ m))); last first.
  by rewrite /entry -divn_eq natrM; by_ring.
rewrite -(join_split (s %/ 4)) // mulr_sumr [coefficients _ _ _ _]/=; apply: eq_bigr => q _.
rewrite mulrCA; congr (_ * _); rewrite -/m.
transitivity (m%:R * quarter m q (split_all m (s %/ 4) x) (j %% m)).
  rewrite -(IH (child s q)) ?ltn_mod //; apply: eq_coefficients => [|k lt]; rewrite ?ltn_mod //.
  by rewrite /quarter /= -/m divnMDl // divn_small // addn0 modnMDl modn_small.
by rewrite /quarter /split_all modnMDl modn_mod divnMDl // (divn_small (ltn_pmod j m_gt0)) addn0.
Qed.

(* ------------------------------------------------------------------- errors of the transform *)
Section Errors.
Variables (u theta : C).
Hypotheses (u_ge0 : 0 <= u) (theta_ge0 : 0 <= theta).
Variables (sum : C -> C -> Prop) (by_root over_root i_over_root : nat -> C -> C -> Prop).
Hypothesis sum_ok : forall x y, sum x y -> `|y - x| <= u * `|x|.
Hypothesis root_ok : forall e a z, by_root e a z -> `|z - a * g ^+ e| <= theta * `|a|.
Hypothesis over_ok : forall e a z, over_root e a z -> `|z - a * (g ^+ e)^* | <= theta * `|a|.
Hypothesis i_over_ok : forall e a z, i_over_root e a z ->
  `|z - a * ('i * (g ^+ e)^* )| <= theta * `|a|.

(* Of l + 1 steps. *)
Definition step_growth (l : nat) : C := (1 + theta) ^+ l.+1 * (1 + u) ^+ (2 * l).+1 - 1.

Lemma growth_ge0 a b : 0 <= a -> 0 <= b -> 0 <= (1 + a) * (1 + b) - 1.
Proof.
move=> a_ge0 b_ge0; rewrite (_ : _ - 1 = a + b + a * b); last by by_ring.
by rewrite !addr_ge0 // mulr_ge0.
Qed.

Lemma step_growth_ge0 l : 0 <= step_growth l.
Proof.
rewrite subr_ge0 mulr_ege1 // exprn_ege1 // ler_addl //.
Qed.

Lemma split_error e (x y : nat -> C) : split_by_four sum by_root e x y ->
  squares 4 (fun q => y q - split_exact e x q)
    <= ((1 + theta) * (1 + u) * (1 + u) - 1) ^+ 2 * (4%:R * squares 4 x).
Proof.
case=> [wb [wc [wd [even [other_even [odd [other_odd]]]]]]].
move=> [[/root_ok b_ok /root_ok c_ok /root_ok d_ok]].
move=> [[/sum_ok v0 /sum_ok v1 /sum_ok v2 /sum_ok v3]].
move=> [/sum_ok y0 /sum_ok y1 /sum_ok y2 /sum_ok y3].
pose t := nth 0 [:: x 0%N; wb; wc; wd]; pose v := nth 0 [:: even; other_even; odd; other_odd].
have k_ge0 := squares_ge0 4 x; have u1_ge0 : 0 <= 1 + u by rewrite addr_ge0.
have t_ok : squares 4 (fun j => t j - by_roots e x j) <= theta ^+ 2 * squares 4 x.
  rewrite -[squares 4 x]mul1r -(by_roots_squares e); apply: near_squares => // [[|[|[|[|//]]]]] _.
  - by rewrite /t /by_roots /= subrr normr0 mulr_ge0.
  - by rewrite /t /by_roots /= normrM root_norm mul1r mulrC.
  - by rewrite /t /by_roots /= normrM root_norm mul1r mulrC.
  - by rewrite /t /by_roots /= normrM root_norm mul1r mulrC.
have t'_le : squares 4 (by_roots e x) <= squares 4 x by rewrite by_roots_squares mul1r.
have v_ok : squares 4 (fun j => v j - first_sums t j) <= u ^+ 2 * squares 4 (first_sums t).
  by apply: near_squares => // [[|[|[|[|//]]]]] _; rewrite /v /first_sums /t /=.
have first_additive (a b : nat -> C) j : (j < 4)%N ->
    first_sums (fun i => a i - b i) j = first_sums a j - first_sums b j.
  by case: j => [|[|[|[|//]]]] _; rewrite /first_sums /=; by_ring.
have {t_ok} v_ok' := step_error (ge0n 2) theta_ge0 u_ge0 k_ge0 first_additive first_sums_squares
  t_ok t'_le v_ok.
have v'_le : squares 4 (first_sums (by_roots e x)) <= 2%:R * squares 4 x.
  by rewrite first_sums_squares ler_wpmul2l.
have y_ok : squares 4 (fun j => y j - second_sums v j) <= u ^+ 2 * squares 4 (second_sums v).
  by apply: near_squares => // [[|[|[|[|//]]]]] _; rewrite /second_sums /v /=.
have second_additive (a b : nat -> C) j : (j < 4)%N ->
    second_sums (fun i => a i - b i) j = second_sums a j - second_sums b j.
  by case: j => [|[|[|[|//]]]] _; rewrite /second_sums /=; by_ring.
have := step_error (ge0n 2) (growth_ge0 theta_ge0 u_ge0) u_ge0 (mulr_ge0 (ge0n 2) k_ge0)
  second_additive second_sums_squares v_ok' v'_le y_ok.
rewrite (_ : 1 + ((1 + theta) * (1 + u) - 1) = (1 + theta) * (1 + u)); last by by_ring.
rewrite (_ : 2%:R * (2%:R * squares 4 x) = 4%:R * squares 4 x); last by by_ring.
apply: le_trans; apply: le_of_eq; apply: eq_squares => q lt; rewrite split_steps //.
Qed.

(* The values off by a multiple of the 2-norm. *)
Theorem forward_error l : forall s (turned : bool) (x y : nat -> C),
  (size_of l %| s)%N -> (l <= 3)%N ->
  (turned -> (256 <= s)%N) -> forward sum by_root l s turned x y ->
  squares (size_of l) (fun k => y k - values l s x k)
    <= step_growth l ^+ 2 * ((size_of l)%:R * squares (size_of l) x).
Proof.
elim: l => [|l IH] s turned x y l_s l_le s_le.
  case=> t [/root_ok t_ok y_ok].
  pose t' := if turned then 'i * t else t.
  have t'_ok : `|t' - g ^+ (s %/ 2) * x 1%N| <= theta * `|x 1%N|.
    rewrite /t' /last_root in t_ok *; case: turned s_le t_ok {y_ok t'} => [s_ge|_] t_ok.
      have -> : 'i * t - g ^+ (s %/ 2) * x 1%N
          = 'i * (t - x 1%N * g ^+ (s %/ 2 - 128 * true)).
        have -> : (s %/ 2 = 128 + (s %/ 2 - 128 * true))%N.
          rewrite muln1 subnKC // leq_divRL //; exact: s_ge.
        rewrite muln1 addKn exprD g_quarter; by_ring.
      by rewrite norm_i.
    by rewrite muln0 subn0 in t_ok; rewrite mulrC.
  have {y_ok} [/sum_ok y0 /sum_ok y1] : sum (x 0%N + t') (y 0%N) /\ sum (x 0%N - t') (y 1%N).
    exact: y_ok.
  pose M (a : nat -> C) : nat -> C := nth 0 [:: a 0%N + a 1%N; a 0%N - a 1%N].
  pose v := nth 0 [:: x 0%N; t'] : nat -> C.
  pose v' := nth 0 [:: x 0%N; g ^+ (s %/ 2) * x 1%N] : nat -> C.
  have two_sum (f : nat -> C) : squares 2 f = `|f 0%N| ^+ 2 + `|f 1%N| ^+ 2.
    by rewrite /squares !big_ord_recl big_ord0 addr0.
  have v'_eq : squares 2 v' = squares 2 x.
    by rewrite !two_sum /v' /= normrM root_norm mul1r.
  have v_ok : squares 2 (fun j => v j - v' j) <= theta ^+ 2 * squares 2 x.
    rewrite -v'_eq; apply: near_squares => // [[|[|//]]] _; rewrite /v /v' /=.
      by rewrite subrr normr0 mulr_ge0.
    by rewrite normrM root_norm mul1r.
  have y_ok : squares 2 (fun j => y j - M v j) <= u ^+ 2 * squares 2 (M v).
    by apply: near_squares => // [[|[|//]]] _; rewrite /M /v /=.
  have M_additive (a b : nat -> C) j : (j < 2)%N -> M (fun i => a i - b i) j = M a j - M b j.
    by case: j => [|[|//]] _; rewrite /M /=; by_ring.
  have M_squares (a : nat -> C) : squares 2 (M a) = 2%:R * squares 2 a.
    by rewrite !two_sum /M /= parallelogram.
  have := step_error (ge0n 2) theta_ge0 u_ge0 (squares_ge0 2 x) M_additive M_squares v_ok
    (le_of_eq v'_eq) y_ok.
  rewrite /step_growth !expr1; apply: le_trans; apply: le_of_eq; apply: eq_squares.
  by case=> [|[|//]] _.
have m_gt0 := size_gt0 l; set e := (s %/ 4)%N; rewrite sizeS in l_s *.
set m := size_of l in l_s m_gt0 *; case=> z [z_ok y_ok].
have z_err : squares (4 * m) (fun i => z i - split_all m e x i)
    <= ((1 + theta) * (1 + u) * (1 + u) - 1) ^+ 2 * (4%:R * squares (4 * m) x).
  rewrite !squares_entries // 2!mulr_sumr; apply: ler_sum => j _.
  apply: le_trans (split_error (z_ok j (ltn_ord j))); apply: le_of_eq; apply: eq_squares => q _.
  by rewrite /entry /split_all modnMDl modn_small // divnMDl // divn_small // addn0.
pose M (a : nat -> C) k := values l (child s (k %/ m)) (quarter m (k %/ m) a) (k %% m).
have M_block (a : nat -> C) (q : 'I_4) j : (j < m)%N ->
    quarter m q (M a) j = values l (child s q) (quarter m q a) j.
  by move=> lt; rewrite /quarter /M divnMDl // divn_small // addn0 modnMDl modn_small.
have M_squares (a : nat -> C) : squares (4 * m) (M a) = m%:R * squares (4 * m) a.
  rewrite !squares_blocks // mulr_sumr; apply: eq_bigr => q _.
  rewrite -(values_squares l (child s q)); apply: eq_squares => j; exact: M_block.
have M_additive (a b : nat -> C) k : (k < 4 * m)%N ->
    M (fun i => a i - b i) k = M a k - M b k.
  move=> k_lt; have q_lt : (k %/ m < 4)%N by rewrite ltn_divLR.
  have [m_s _] := child_ok l_s l_le q_lt.
  exact: (values_additive _ _ (ltn_pmod k m_gt0) m_s (ltnW l_le)).
have y_err : squares (4 * m) (fun k => y k - M z k)
    <= step_growth l ^+ 2 * squares (4 * m) (M z).
  rewrite M_squares !squares_blocks // 2!mulr_sumr; apply: ler_sum => q _.
  have [m_s turned_ok] := child_ok l_s l_le (ltn_ord q).
  apply: le_trans (IH _ _ _ _ m_s (ltnW l_le) turned_ok (y_ok q (ltn_ord q))).
  apply: le_of_eq; apply: eq_squares => j lt.
  by rewrite -M_block.
have k_ge0 : 0 <= 4%:R * squares (4 * m) x by rewrite mulr_ge0 // squares_ge0.
have := step_error (ge0n m) (growth_ge0 (growth_ge0 theta_ge0 u_ge0) u_ge0) (step_growth_ge0 l) k_ge0
  M_additive M_squares _ (le_of_eq (split_all_squares e x m_gt0)) y_err.
rewrite (_ : 1 + ((1 + theta) * (1 + u) - 1) = (1 + theta) * (1 + u)); last by by_ring.
move=> /(_ z_err); rewrite (_ : m%:R * (4%:R * squares (4 * m) x) = (4 * m)%:R * squares (4 * m) x).
  rewrite (_ : _ * (1 + step_growth l) - 1 = step_growth l.+1) //.
  rewrite /step_growth mulnS [in RHS]exprS !addSn add0n [in RHS](exprS (1 + u)).
  by rewrite [in RHS](exprS (1 + u) (2 * l).+1); by_ring.
by rewrite natrM mulrCA mulrA.
Qed.

(* Each coefficient of the inverse is off by a multiple of the sum of the moduli. *)
Definition near e mass x x' : Prop := `|x - x'| <= e * mass /\ `|x'| <= mass.

Lemma near_add e mass mass' x x' y y' : near e mass x x' -> near e mass' y y' ->
  near e (mass + mass') (x + y) (x' + y').
Proof.
case=> x_ok x'_le [y_ok y'_le]; split; last exact: le_trans (ler_norm_add _ _) (ler_add _ _).
rewrite (_ : x + y - (x' + y') = (x - x') + (y - y')); last by by_ring.
by rewrite mulrDr; apply: le_trans (ler_norm_add _ _) (ler_add _ _).
Qed.

Lemma near_unit e mass x x' c : `|c| = 1 -> near e mass x x' -> near e mass (c * x) (c * x').
Proof. by move=> c_norm [x_ok x'_le]; split; rewrite -?mulrBr normrM c_norm mul1r. Qed.

Lemma near_op e f mass x x' y : 0 <= f -> near e mass x x' -> `|y - x| <= f * `|x| ->
  near ((1 + e) * (1 + f) - 1) mass y x'.
Proof.
move=> f_ge0 [x_ok x'_le] y_ok; split=> //.
have x_le : `|x| <= e * mass + mass.
  by rewrite -[x](subrK x'); apply: le_trans (ler_norm_add _ _) (ler_add _ _).
rewrite -[y](subrK x) -addrA; apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (ler_add y_ok x_ok) _.
apply: le_trans (ler_add (ler_wpmul2l f_ge0 x_le) (lexx _)) _.
by apply: le_of_eq; by_ring.
Qed.

Lemma near_sum e mass mass' x x' y y' z : near e mass x x' -> near e mass' y y' ->
  sum (x + y) z -> near ((1 + e) * (1 + u) - 1) (mass + mass') z (x' + y').
Proof. by move=> x_ok y_ok /sum_ok; apply: near_op => //; exact: near_add. Qed.

Lemma near_sub e mass mass' x x' y y' z : near e mass x x' -> near e mass' y y' ->
  sum (x - y) z -> near ((1 + e) * (1 + u) - 1) (mass + mass') z (x' - y').
Proof.
move=> x_ok y_ok; apply: near_sum => //; rewrite -[- y]mulN1r -[- y']mulN1r.
by apply: near_unit => //; rewrite normrN normr1.
Qed.

Lemma near_more e e' mass x x' : e <= e' -> near e mass x x' -> near e' mass x x'.
Proof.
move=> le [x_ok x'_le]; split=> //; apply: le_trans x_ok _; rewrite ler_wpmul2r //.
exact: le_trans x'_le.
Qed.

Lemma near_to e mass x y y' : y = y' -> near e mass x y -> near e mass x y'.
Proof. by move=> ->. Qed.

Lemma join_error e f mass (x x' y : nat -> C) : 0 <= f -> 
  (forall q, (q < 4)%N -> near f (mass q) (x q) (x' q)) ->
  join_by_four sum over_root e x y ->
  forall p, (p < 4)%N -> near ((1 + f) * (1 + u) * (1 + u) * (1 + theta) - 1) (\sum_(q < 4) mass q)
    (y p) (\sum_(q < 4) ((unit_of q * g ^+ e)^* ) ^+ p * x' q).
Proof.
move=> f_ge0 x_ok [even [odd [other_even [i_other_odd [b [c [d]]]]]]].
move=> [[s0 s1 s2 s3] [[t0 t1 t2 t3] [/over_ok o1 /over_ok o2 /over_ok o3]]].
have [x0 x1 x2 x3] : [/\ near f (mass 0%N) (x 0%N) (x' 0%N), near f (mass 1%N) (x 1%N) (x' 1%N),
    near f (mass 2%N) (x 2%N) (x' 2%N) & near f (mass 3%N) (x 3%N) (x' 3%N)].
  by split; exact: x_ok.
have {s0} s0 := near_sum x0 x1 s0; have {s1} s1 := near_sub x0 x1 s1.
have {s2} s2 := near_sum x2 x3 s2; have {s3} s3 := near_sub x2 x3 s3.
have s3' := near_unit i_norm s3.
have {t0} t0 := near_sum s0 s2 t0; have {t1} t1 := near_sub s1 s3' t1.
have {t2} t2 := near_sub s0 s2 t2; have {t3} t3 := near_sum s1 s3' t3.
rewrite (_ : 1 + ((1 + f) * (1 + u) - 1) = (1 + f) * (1 + u)) in t0 t1 t2 t3; last by by_ring.
have fu_ge0 : 0 <= (1 + f) * (1 + u) * (1 + u) by rewrite !mulr_ge0 ?addr_ge0.
have root e' a a' z : near ((1 + f) * (1 + u) * (1 + u) - 1) a' a z -> forall y0,
    `|y0 - a * (g ^+ e')^* | <= theta * `|a| ->
    near ((1 + f) * (1 + u) * (1 + u) * (1 + theta) - 1) a' y0 (z * (g ^+ e')^* ).
  move=> a_ok y0 y0_ok; have w_norm : `|(g ^+ e')^* | = 1 by rewrite norm_conjC root_norm.
  have := near_unit w_norm a_ok; rewrite [_ * a]mulrC [_ * z]mulrC => a_ok'.
  have := near_op theta_ge0 a_ok' (_ : `|y0 - a * (g ^+ e')^* | <= theta * `|a * (g ^+ e')^* |).
  rewrite normrM w_norm mulr1 => /(_ y0_ok).
  by rewrite (_ : 1 + ((1 + f) * (1 + u) * (1 + u) - 1) = (1 + f) * (1 + u) * (1 + u)) //; by_ring.
have masses : \sum_(q < 4) mass q = mass 0%N + mass 1%N + (mass 2%N + mass 3%N).
  by rewrite !big_ord_recl big_ord0 /= /bump /= addr0 -!addrA.
move=> p p_lt; rewrite masses !big_ord_recl big_ord0 /= /bump /unit_of /=.
rewrite -![(1 + 0)%N]/1%N -![(1 + 1)%N]/2%N -[(1 + 2)%N]/3%N.
have conjM v w : (v * w)^* = v^* * w^* by rewrite rmorphM.
have conjN (v : C) : (- v)^* = - v^* by rewrite rmorphN.
have conj1 : (1 : C)^* = 1 by rewrite rmorph1.
have conjX (v : C) n : (v ^+ n)^* = v^* ^+ n by rewrite rmorphX.
case: p p_lt => [|[|[|[|//]]]] _.
- have le : (1 + f) * (1 + u) * (1 + u) - 1 <= (1 + f) * (1 + u) * (1 + u) * (1 + theta) - 1.
    by rewrite ler_add2r ler_pemulr // ler_addl.
  by apply: near_to (near_more le t0); rewrite !expr0; by_ring.
- apply: near_to (root _ _ _ _ t1 _ o1).
  by rewrite !conjM !conjN conjCi conj1; by_ring_i.
- apply: near_to (root _ _ _ _ t2 _ o2).
  by rewrite (mulnC 2%N) exprM (conjX _ 2%N) !conjM !conjN conjCi conj1; by_ring_i.
apply: near_to (root _ _ _ _ t3 _ o3).
by rewrite (mulnC 3%N) exprM (conjX _ 3%N) !conjM !conjN conjCi conj1; by_ring_i.
Qed.

Lemma coefficients_le l : forall s (x : nat -> C) j, (j < size_of l)%N ->
  `|coefficients l s x j| <= \sum_(k < size_of l) `|x k|.
Proof.
elim: l => [|l IH] s x j j_lt.
  have -> : \sum_(k < size_of 0) `|x k| = `|x 0%N| + `|x 1%N|.
    by rewrite !big_ord_recl big_ord0 /= addr0.
  case: j j_lt => [|[|//]] _ /=; first exact: ler_norm_add.
  by rewrite normrM norm_conjC root_norm mul1r ler_norm_sub.
have m_gt0 := size_gt0 l; rewrite sizeS (@sum_entries C 4 _ (fun k => `|x k|)) //=.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => q _.
rewrite normrM normrX norm_conjC -child_root // root_norm expr1n mul1r.
exact: (IH _ (quarter (size_of l) q x) _ (ltn_pmod j m_gt0)).
Qed.

Theorem inverse_error l : forall s (turned : bool) (x y : nat -> C),
  (size_of l %| s)%N -> (l <= 3)%N ->
  (turned -> (256 <= s)%N) -> inverse sum over_root i_over_root l s turned x y ->
  forall j, (j < size_of l)%N -> near (step_growth l) (\sum_(k < size_of l) `|x k|) (y j)
    (coefficients l s x j).
Proof.
elim: l => [|l IH] s turned x y l_s l_le s_le.
  case=> y0 [b [b_ok y1]].
  have -> : \sum_(k < size_of 0) `|x k| = `|x 0%N| + `|x 1%N|.
    by rewrite !big_ord_recl big_ord0 /= addr0.
  have exact_near z : near 0 `|z| z z by split; rewrite ?subrr ?normr0 ?mul0r.
  have growth : step_growth 0 = (1 + ((1 + 0) * (1 + u) - 1)) * (1 + theta) - 1.
    by rewrite /step_growth !expr1; by_ring.
  case=> [|[|//]] _.
    apply: near_more (near_sum (exact_near _) (exact_near _) y0); rewrite growth.
    rewrite ler_add2r (_ : 1 + (_ - 1) = (1 + 0) * (1 + u)); last by by_ring.
    by rewrite ler_pemulr ?ler_addl // addr0 mul1r addr_ge0.
  rewrite growth /last_root /= in y1 *; case: turned s_le b_ok y1 => [s_ge|_] b_ok.
    have s_le' : (128 <= s %/ 2)%N by rewrite leq_divRL //; exact: s_ge.
    move=> /i_over_ok y1; rewrite muln1 in y1.
    have {b_ok} b_ok := near_sub (exact_near _) (exact_near _) b_ok.
    have w_norm : `|'i * (g ^+ (s %/ 2 - 128))^* | = 1 by rewrite norm_i norm_conjC root_norm.
    have := near_unit w_norm b_ok; rewrite [_ * b]mulrC => b_ok'.
    have := near_op theta_ge0 b_ok' (_ : `|y 1%N - b * ('i * (g ^+ (s %/ 2 - 128))^* )|
      <= theta * `|b * ('i * (g ^+ (s %/ 2 - 128))^* )|).
    rewrite normrM w_norm mulr1 => /(_ y1); rewrite [_ + `|x 0%N|]addrC.
    rewrite (_ : 'i * _ * _ = (g ^+ (s %/ 2))^* * (x 0%N - x 1%N)) //.
    rewrite -{2}(subnKC s_le') exprD g_quarter.
    have -> : ('i * g ^+ (s %/ 2 - 128))^* = - 'i * (g ^+ (s %/ 2 - 128))^*.
      by rewrite rmorphM conjCi.
    by by_ring.
  move=> /over_ok y1; rewrite muln0 subn0 in y1.
  have {b_ok} b_ok := near_sub (exact_near _) (exact_near _) b_ok.
  have w_norm : `|(g ^+ (s %/ 2))^* | = 1 by rewrite norm_conjC root_norm.
  have := near_unit w_norm b_ok; rewrite [_ * b]mulrC => b_ok'.
  have := near_op theta_ge0 b_ok' (_ : `|y 1%N - b * (g ^+ (s %/ 2))^* |
    <= theta * `|b * (g ^+ (s %/ 2))^* |).
  by rewrite normrM w_norm mulr1 => /(_ y1).
have m_gt0 := size_gt0 l; set e := (s %/ 4)%N; rewrite sizeS in l_s *.
set m := size_of l in l_s m_gt0 *; case=> z [z_ok y_ok] j j_lt.
have p_lt : (j %/ m < 4)%N by rewrite ltn_divLR.
have j_m := ltn_pmod j m_gt0.
have blocks q : (q < 4)%N -> near (step_growth l) (\sum_(k < m) `|quarter m q x k|)
    (entry m (j %% m) z q) (coefficients l (child s q) (quarter m q x) (j %% m)).
  move=> q_lt; have [m_s turned_ok] := child_ok l_s l_le q_lt.
  exact: IH m_s (ltnW l_le) turned_ok (z_ok q q_lt) _ j_m.
have := join_error (step_growth_ge0 l) blocks (y_ok _ j_m) p_lt.
rewrite /entry -divn_eq (@sum_entries C 4 m (fun k => `|x k|)) //.
rewrite (_ : _ * (1 + theta) - 1 = step_growth l.+1) //.
rewrite /step_growth mulnS [in RHS]exprS !addSn add0n [in RHS](exprS (1 + u)).
by rewrite [in RHS](exprS (1 + u) (2 * l).+1); by_ring.
Qed.
End Errors.

(* ------------------------------------------------------------------------------- products *)
Lemma form_at (a : 'rV[C]_256) w : w ^+ 128 = 'i ->
  \sum_(j < 128) complex_form a j * w ^+ j = (rVpoly a).[w].
Proof.
move=> w_i; rewrite (@horner_coef_wide _ (2 * 128)) ?size_poly //.
rewrite (@sum_entries C 2 128 (fun i => (rVpoly a)`_i * w ^+ i)) // exchange_big /=.
apply: eq_bigr => j _; rewrite !big_ord_recl big_ord0 /= /bump /= -[(1 + 0)%N]/1%N.
rewrite /complex_form mul0n add0n mul1n exprD w_i [(128 + j)%N]addnC addr0 mulrDl.
by congr (_ + _); rewrite [RHS]mulrCA mulrA.
Qed.

Lemma negacyclic_at (a s : 'rV[C]_256) w : w ^+ 128 = 'i ->
  (rVpoly (negacyclic a s)).[w] = (rVpoly a).[w] * (rVpoly s).[w].
Proof.
move=> w_i; have w_N : w ^+ 256 = -1 by rewrite (exprM _ 128 2) w_i sqrCi.
rewrite negacyclic_polynomial // -hornerM; set p := rVpoly a * rVpoly s.
have monic : 'X^256 + 1 \is @monic C.
  by rewrite monicE lead_coefDl ?lead_coefXn // size_polyXn size_poly1.
rewrite [in RHS](Pdiv.RingMonic.rdivp_eq monic p) hornerD hornerM.
by rewrite hornerD hornerXn hornerC w_N addNr mulr0 add0r.
Qed.

Lemma values_form k : (k < 128)%N -> exists2 w, w ^+ 128 = 'i
  & forall a : 'rV[C]_256, values 3 128 (complex_form a) k = (rVpoly a).[w].
Proof.
move=> k_lt; have [//|//|w w_128 w_ok] := @values_at 3 128 k k_lt.
have w_i : w ^+ 128 = 'i by rewrite -g_quarter; exact: w_128.
by exists w => // b; rewrite w_ok; exact: form_at.
Qed.

Lemma values_scale l s c (x : nat -> C) k : (k < size_of l)%N -> (size_of l %| s)%N -> (l <= 3)%N ->
  values l s (fun j => x j * c) k = values l s x k * c.
Proof.
move=> k_lt l_s l_le; have [w _ w_ok] := values_at k_lt l_s l_le.
by rewrite !w_ok mulr_suml; apply: eq_bigr => j _; rewrite mulrAC.
Qed.

Section Error.
Variables (u kappa rho f : C).
Hypotheses (u_ge0 : 0 <= u) (kappa_ge0 : 0 <= kappa) (rho_ge0 : 0 <= rho) (f_ge0 : 0 <= f).
Hypothesis kappa_ok : 16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * kappa ^+ 2.
Variable table : nat -> C.
Hypothesis table_ok : forall e, `|table e - g ^+ e| <= rho.

Definition root_growth : C := (1 + kappa) * (1 + rho) - 1.
Definition transform_growth : C := step_growth u root_growth 3.

Let theta_ge0 : 0 <= root_growth := growth_ge0 kappa_ge0 rho_ge0.
Let phi_ge0 : 0 <= transform_growth := step_growth_ge0 u_ge0 theta_ge0 3.

Lemma table_times e a z : times (rounded u) a (table e) z -> `|z - a * g ^+ e| <= root_growth * `|a|.
Proof. exact: (root_error u_ge0 kappa_ge0 kappa_ok (root_norm e) (table_ok e)). Qed.

Lemma table_over e a z : times (rounded u) a (table e)^* z -> `|z - a * (g ^+ e)^* | <= root_growth * `|a|.
Proof.
apply: (root_error u_ge0 kappa_ge0 kappa_ok); first by rewrite norm_conjC root_norm.
by rewrite -rmorphB norm_conjC.
Qed.

Lemma table_i_over e a z : times (rounded u) a ('i * (table e)^* ) z ->
  `|z - a * ('i * (g ^+ e)^* )| <= root_growth * `|a|.
Proof.
apply: (root_error u_ge0 kappa_ge0 kappa_ok); first by rewrite norm_i norm_conjC root_norm.
by rewrite -mulrBr norm_i -rmorphB norm_conjC.
Qed.

Lemma transform_bounds (x y : nat -> C) c : 0 <= c -> squares 128 x <= c ^+ 2 ->
  float_forward (rounded u) table x y ->
  [/\ squares 128 (fun k => y k - values 3 128 x k) <= (transform_growth * c) ^+ 2 * 128%:R,
      squares 128 (values 3 128 x) <= c ^+ 2 * 128%:R
    & squares 128 y <= ((1 + transform_growth) * c) ^+ 2 * 128%:R].
Proof.
move=> c_ge0 x_le y_ok.
have x_ok : squares 128 (values 3 128 x) <= c ^+ 2 * 128%:R.
  have -> : squares 128 (values 3 128 x) = 128%:R * squares 128 x := values_squares 3 128 x.
  by rewrite mulrC ler_wpmul2r.
have y_err : squares 128 (fun k => y k - values 3 128 x k)
    <= (transform_growth * c) ^+ 2 * 128%:R.
  have false_ok : false -> (256 <= 128)%N by [].
  have divides : (size_of 3 %| 128)%N by [].
  apply: le_trans (forward_error u_ge0 theta_ge0 (parts_error u_ge0) table_times divides
    (leqnn 3) false_ok y_ok) _.
  rewrite [X in _ <= X](_ : _ = transform_growth ^+ 2 * (128%:R * c ^+ 2)).
    by rewrite !ler_wpmul2l ?exprn_ge0.
  by rewrite exprMn -mulrA [c ^+ 2 * _]mulrC.
split=> //; rewrite (@eq_squares C _ y (fun k => (y k - values 3 128 x k) + values 3 128 x k)).
  rewrite (_ : (1 + transform_growth) * c = transform_growth * c + c); last by by_ring.
  by apply: squares_sum; rewrite ?mulr_ge0.
by move=> j _; rewrite subrK.
Qed.

Variable d : nat.
Variable point : ('I_d -> C) -> ('I_d -> C) -> C -> Prop.
Hypothesis point_ok : forall (x s : 'I_d -> C) z, point x s z ->
  `|z - \sum_l x l * s l| <= f * \sum_l `|x l| * `|s l|.
Variables (a s : 'I_d -> 'rV[C]_256) (alpha sigma : 'I_d -> C).
Hypotheses (alpha_ge0 : forall l, 0 <= alpha l) (sigma_ge0 : forall l, 0 <= sigma l).
Hypothesis a_le : forall l, squares 128 (complex_form (a l)) <= alpha l ^+ 2.
Hypothesis s_le : forall l, squares 128 (complex_form (s l)) <= sigma l ^+ 2.

Definition product_growth : C := (1 + transform_growth) ^+ 3 * (1 + f) - 1.

Theorem product_error (y : nat -> C) : float_product (rounded u) table point a s y -> forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (a l) (s l)) j|
    <= product_growth * \sum_l alpha l * sigma l.
Proof.
case=> [A [S [z [A_ok S_ok z_ok y_ok]]]] j j_lt.
set P := \sum_l alpha l * sigma l; have := phi_ge0; set phi := transform_growth => phi_ge0'.
have N_neq0 : 128%:R != 0 :> C by rewrite pnatr_eq0.
have phi1_ge0 : 0 <= 1 + phi by rewrite addr_ge0.
pose sigma' l := sigma l / 128%:R.
have sigma'_ge0 l : 0 <= sigma' l by rewrite divr_ge0.
have s_le' l : squares 128 (fun j => complex_form (s l) j / 128%:R) <= sigma' l ^+ 2.
  rewrite (@eq_squares C _ _ (fun j => 128%:R^-1 * complex_form (s l) j)) => [|i _]; last first.
    by rewrite mulrC.
  rewrite squares_scale ger0_norm ?invr_ge0 // /sigma' exprMn [_ ^+ 2 * _ ^+ 2]mulrC.
  by rewrite ler_wpmul2l ?exprn_ge0 ?invr_ge0.
pose A' l := values 3 128 (complex_form (a l)).
pose S' l := values 3 128 (fun j => complex_form (s l) j / 128%:R).
have A_all l := transform_bounds (alpha_ge0 l) (a_le l) (A_ok l).
have S_all l := transform_bounds (sigma'_ge0 l) (s_le' l) (S_ok l).
pose z' k := \sum_l A' l k * S' l k.
have scaled l : alpha l * sigma' l * 128%:R = alpha l * sigma l.
  by rewrite -mulrA divfK.
have moduli : \sum_(k < 128) \sum_l `|A l k| * `|S l k| <= (1 + phi) ^+ 2 * P.
  rewrite exchange_big /P mulr_sumr /=; apply: ler_sum => l _.
  have [_ _ A_le] := A_all l; have [_ _ S_le] := S_all l.
  apply: le_trans (products_le (mulr_ge0 phi1_ge0 (alpha_ge0 l)) (mulr_ge0 phi1_ge0 (sigma'_ge0 l))
    (ge0n 128) A_le S_le) _.
  by apply: le_of_eq; rewrite -scaled; move: (128%:R : C) => n; by_ring.
have moduli' : \sum_(k < 128) \sum_l `|A' l k| * `|S' l k| <= P.
  rewrite exchange_big /P /=; apply: ler_sum => l _.
  have [_ A_le _] := A_all l; have [_ S_le _] := S_all l.
  rewrite -scaled; exact: products_le (alpha_ge0 l) (sigma'_ge0 l) (ge0n 128) A_le S_le.
have terms : \sum_(k < 128) \sum_l `|A l k * S l k - A' l k * S' l k| <= ((1 + phi) ^+ 2 - 1) * P.
  rewrite exchange_big /P mulr_sumr /=; apply: ler_sum => l _.
  have [A_err A_le _] := A_all l; have [S_err _ S_le] := S_all l.
  apply: (@le_trans _ _ (\sum_(k < 128) `|A l k - A' l k| * `|S l k|
                         + \sum_(k < 128) `|A' l k| * `|S l k - S' l k|)).
    rewrite -big_split /=; apply: ler_sum => k _.
    rewrite (_ : _ - _ = (A l k - A' l k) * S l k + A' l k * (S l k - S' l k)); last by by_ring.
    by apply: le_trans (ler_norm_add _ _) _; rewrite !normrM.
  have first := products_le (mulr_ge0 phi_ge0' (alpha_ge0 l))
    (mulr_ge0 phi1_ge0 (sigma'_ge0 l)) (ge0n 128) A_err S_le.
  have second := products_le (alpha_ge0 l) (mulr_ge0 phi_ge0' (sigma'_ge0 l)) (ge0n 128) A_le S_err.
  apply: le_trans (ler_add first second) _.
  by apply: le_of_eq; rewrite -scaled -/phi; move: (128%:R : C) => n; by_ring.
have z_err : \sum_(k < 128) `|z k - z' k| <= ((1 + phi) ^+ 2 * (1 + f) - 1) * P.
  have step : \sum_(k < 128) `|z k - z' k| <= f * (\sum_(k < 128) \sum_l `|A l k| * `|S l k|)
      + \sum_(k < 128) \sum_l `|A l k * S l k - A' l k * S' l k|.
    rewrite [f * _]big_distrr /= -big_split /=; apply: ler_sum => k _.
    apply: le_trans (ler_dist_add (\sum_l A l k * S l k) _ _) _.
    apply: ler_add; first exact/point_ok/z_ok.
    by rewrite /z' -sumrB; exact: ler_norm_sum.
  apply: le_trans step _.
  apply: le_trans (ler_add (ler_wpmul2l f_ge0 moduli) terms) _.
  by apply: le_of_eq; by_ring.
have z'_le : \sum_(k < 128) `|z' k| <= P.
  apply: le_trans moduli'; apply: ler_sum => k _; apply: le_trans (ler_norm_sum _ _ _) _.
  by apply: ler_sum => l _; rewrite normrM.
have z_le : \sum_(k < 128) `|z k| <= (1 + phi) ^+ 2 * (1 + f) * P.
  apply: (@le_trans _ _ (\sum_(k < 128) `|z k - z' k| + \sum_(k < 128) `|z' k|)).
    rewrite -big_split /=; apply: ler_sum => k _; rewrite -{1}[z k](subrK (z' k)).
    exact: ler_norm_add.
  by apply: le_trans (ler_add z_err z'_le) _; apply: le_of_eq; by_ring.
have z'_values k : (k < 128)%N ->
    z' k = values 3 128 (fun j => complex_form (\sum_l negacyclic (a l) (s l)) j / 128%:R) k.
  move=> k_lt; have [w w_i w_ok] := values_form k_lt.
  rewrite values_scale // w_ok linear_sum horner_sum mulr_suml; apply: eq_bigr => l _.
  by rewrite /A' /S' values_scale // !w_ok mulrA negacyclic_at.
have exact : coefficients 3 128 z' j = complex_form (\sum_l negacyclic (a l) (s l)) j.
  rewrite (@eq_coefficients 3 128 _ _ j j_lt z'_values) coefficients_values //.
  by rewrite mulrC divfK.
have false_ok : false -> (256 <= 128)%N by [].
have divides : (size_of 3 %| 128)%N by [].
have [y_err _] := inverse_error u_ge0 theta_ge0 (parts_error u_ge0) table_over
  table_i_over divides (leqnn 3) false_ok y_ok j_lt.
have inverse_err := coefficients_le 128 (fun k => z k - z' k) (j_lt : (j < size_of 3)%N).
rewrite coefficients_additive exact in inverse_err.
rewrite -[y j](subrK (coefficients 3 128 z j)) -addrA; apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (ler_add (le_trans y_err (ler_wpmul2l phi_ge0' z_le))
  (le_trans inverse_err z_err)) _.
by apply: le_of_eq; rewrite /product_growth -/phi; by_ring.
Qed.
End Error.
End Exact.
Lemma product_growth_eq (u kappa rho f : C) :
  product_growth u kappa rho f
    = ((1 + kappa) * (1 + rho)) ^+ 12 * (1 + u) ^+ 21 * (1 + f) - 1.
Proof.
rewrite /product_growth /transform_growth /step_growth /root_growth.
rewrite [1 + (_ ^+ 4 * _ - 1)]addrC subrK [1 + ((1 + kappa) * _ - 1)]addrC subrK.
by rewrite exprMn -!exprM.
Qed.

Theorem float_product_error (g u kappa rho f : C) (table : nat -> C) :
  g ^+ 128 = 'i -> 0 <= u -> 0 <= kappa -> 0 <= rho -> 0 <= f ->
  16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * kappa ^+ 2 -> (forall e, `|table e - g ^+ e| <= rho) ->
  forall (d : nat) (A S : 'I_d -> 'rV[C]_256) (A_norm S_norm : 'I_d -> C),
  2%:R * ((1 + u) ^+ d.+1 - 1) ^+ 2 <= f ^+ 2 ->
  (forall l, 0 <= A_norm l) -> (forall l, 0 <= S_norm l) ->
  (forall l, squares 128 (complex_form (A l)) <= A_norm l ^+ 2) ->
  (forall l, squares 128 (complex_form (S l)) <= S_norm l ^+ 2) ->
  forall y : nat -> C, float_product (rounded u) table (point_by_four_sums (rounded u)) A S y ->
  forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (A l) (S l)) j|
    <= (((1 + kappa) * (1 + rho)) ^+ 12 * (1 + u) ^+ 21 * (1 + f) - 1) * \sum_l A_norm l * S_norm l.
Proof.
move=> g_ok u_ge0 k_ge0 r_ge0 f_ge0 k_ok t_ok d A S A_norm S_norm f_ok A_ge0 S_ge0 A_ok S_ok.
move=> y y_ok j lt; rewrite -product_growth_eq.
apply: (product_error g_ok u_ge0 k_ge0 r_ge0 f_ge0 k_ok t_ok _ A_ge0 S_ge0 A_ok S_ok y_ok lt).
by move=> x s z; exact: four_sums_error.
Qed.

Theorem float_small_product_error (g u kappa rho f : C) (table : nat -> C) :
  g ^+ 128 = 'i -> 0 <= u -> 0 <= kappa -> 0 <= rho -> 0 <= f ->
  16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * kappa ^+ 2 -> (forall e, `|table e - g ^+ e| <= rho) ->
  forall (d : nat) (A S : 'I_d -> 'rV[C]_256) (A_norm S_norm : 'I_d -> C),
  2%:R * ((1 + u) ^+ (2 * d) - 1) ^+ 2 <= f ^+ 2 ->
  (forall l, 0 <= A_norm l) -> (forall l, 0 <= S_norm l) ->
  (forall l, squares 128 (complex_form (A l)) <= A_norm l ^+ 2) ->
  (forall l, squares 128 (complex_form (S l)) <= S_norm l ^+ 2) ->
  forall y : nat -> C, float_product (rounded u) table (point_by_two_sums (rounded u)) A S y ->
  forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (A l) (S l)) j|
    <= (((1 + kappa) * (1 + rho)) ^+ 12 * (1 + u) ^+ 21 * (1 + f) - 1) * \sum_l A_norm l * S_norm l.
Proof.
move=> g_ok u_ge0 k_ge0 r_ge0 f_ge0 k_ok t_ok d A S A_norm S_norm f_ok A_ge0 S_ge0 A_ok S_ok.
move=> y y_ok j lt; rewrite -product_growth_eq.
apply: (product_error g_ok u_ge0 k_ge0 r_ge0 f_ge0 k_ok t_ok _ A_ge0 S_ge0 A_ok S_ok y_ok lt).
by move=> x s z; exact: two_sums_error.
Qed.
End Proofs.
