(* Masking: Charlie hides an activation behind a one-time uniform mask, David multiplies, Charlie
   removes the mask's effect. Chapter: masking. A message has b columns; a column is b = 1. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* x~ = embed(q) + r mod L. *)
Definition mask (L n b : nat) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) : 'M['Z_L]_(n, b) :=
  embed_mx L q + r.

(* David's product y~ = W_D x~ mod L, with W_D embedded in Z_L. *)
Definition product (L m n b : nat) (W_D : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) :
    'M['Z_L]_(m, b) :=
  embed_mx L W_D *m x.

(* The cancellation c = W_D r mod L, computed ahead of use. *)
Definition cancellation (L m n b : nat) (W_D : 'M[int]_(m, n)) (r : 'M['Z_L]_(n, b)) :
    'M['Z_L]_(m, b) :=
  embed_mx L W_D *m r.

(* y_D = lift(y~ - c mod L). *)
Definition unmask (L m b : nat) (y c : 'M['Z_L]_(m, b)) : 'M[int]_(m, b) := lift_mx (y - c).

(* The quantised activations are at most qa_max in absolute value. *)
Definition within (n b : nat) (qa_max : nat) (q : 'M[int]_(n, b)) : Prop :=
  forall i j, (absz (q i j) <= qa_max)%N.

(* max_i sum_j |W_D[i][j]|, and Bnd = qa_max times that. *)
Definition row_norm (m n : nat) (W_D : 'M[int]_(m, n)) (i : 'I_m) : nat :=
  (\sum_j absz (W_D i j))%N.
Definition max_row_norm (m n : nat) (W_D : 'M[int]_(m, n)) : nat := (\max_i row_norm W_D i)%N.
Definition static_bound (m n : nat) (qa_max : nat) (W_D : 'M[int]_(m, n)) : nat :=
  (qa_max * max_row_norm W_D)%N.

(* ENC-3: the widest activations that L and W_D allow, at most cap (32767). *)
Definition qa_max (cap L m n : nat) (W_D : 'M[int]_(m, n)) : nat :=
  if max_row_norm W_D == 0%N then cap else minn cap ((L.-1)./2 %/ max_row_norm W_D).

Lemma qa_max_bound cap L m n (W_D : 'M[int]_(m, n)) :
  (0 < L)%N -> (2 * static_bound (qa_max cap L W_D) W_D + 1 <= L)%N.
Proof.
move=> L_gt0; rewrite /static_bound /qa_max; case: eqP => [->|_]; first by lia.
set q := minn _ _; have le_q : (q * max_row_norm W_D <= (L.-1)./2)%N.
  by apply: leq_trans (leq_trunc_div (L.-1)./2 (max_row_norm W_D)); rewrite leq_mul2r geq_minr orbT.
by have := odd_double_half L.-1; rewrite -addnn; lia.
Qed.

Section Bijection.
Variables (L n b : nat).
Implicit Types (q : 'M[int]_(n, b)) (r x : 'M['Z_L]_(n, b)).

Lemma mask_injective q : injective (mask q : 'M['Z_L]_(n, b) -> _).
Proof. exact: addrI. Qed.

Lemma mask_bijective q : bijective (mask q : 'M['Z_L]_(n, b) -> _).
Proof.
by exists (fun x => x - embed_mx L q) => x; rewrite /mask addrC; [rewrite addKr|rewrite subrK].
Qed.

(* Exactly one mask turns q into x. *)
Lemma mask_one q x : #|[set r | mask q r == x]| = 1%N.
Proof.
rewrite (_ : [set r | _] = [set x - embed_mx L q]) ?cards1 //.
by apply/setP=> r; rewrite !inE /mask addrC [RHS]eq_sym subr_eq eq_sym.
Qed.

Lemma card_message : (1 < L)%N -> #|[finType of 'M['Z_L]_(n, b)]| = (L ^ (n * b))%N.
Proof. by move=> L_gt1; rewrite card_mx card_Zp_L. Qed.

(* The joint law of a secret, from which the activation follows, and of the masked message. *)
Lemma mask_joint_law (T : finType) (mu : T -> rat) (q : T -> 'M[int]_(n, b))
    (J : pred (T * 'M['Z_L]_(n, b))) :
  Pr (independent mu (@uniform _)) (fun z => J (z.1, mask (q z.1) z.2))
    = Pr (independent mu (@uniform _)) J.
Proof.
by apply: (@one_time_pad _ _ _ mu (fun a => mask (q a)) J) => // a; apply: mask_injective.
Qed.

Lemma mask_probability (T : finType) (mu : T -> rat) (q : T -> 'M[int]_(n, b)) (E : pred T)
    (x : 'M['Z_L]_(n, b)) :
  (1 < L)%N ->
  Pr (independent mu (@uniform _)) (fun z => E z.1 && (mask (q z.1) z.2 == x))
    = Pr mu E / (L ^ (n * b))%:R.
Proof.
move=> L_gt1; rewrite (mask_joint_law mu q (fun z => E z.1 && (z.2 == x))).
rewrite (Pr_independent_prod mu _ E (fun y => y == x)) Pr_uniform card_message //.
by rewrite (eq_card (fun y => erefl : (y \in fun z => z == x) = (y \in pred1 x))) card1 mul1r.
Qed.

End Bijection.

Section Unmasking.

(* Over any ring, commutative or not, the mask cancels. *)
Lemma unmask_ring (R : ringType) m n b (W : 'M[R]_(m, n)) (a r : 'M[R]_(n, b)) :
  W *m (a + r) - W *m r = W *m a.
Proof. by rewrite mulmxDr addrK. Qed.

Lemma abs_product m n b qa (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) i j :
  within qa q -> (absz ((W *m q) i j) <= qa * row_norm W i)%N.
Proof.
move=> q_in; rewrite -lez_nat abszE mxE; apply: (le_trans (ler_norm_sum _ _ _)).
rewrite /row_norm big_distrr /= -[X in _ <= X]/((_ : nat)%:Z).
rewrite (big_morph Posz PoszD (erefl _)); apply: ler_sum => k _.
by rewrite normrM PoszM mulrC -!abszE ler_pmul ?lez_nat.
Qed.

Lemma row_norm_le m n (W : 'M[int]_(m, n)) i : (row_norm W i <= max_row_norm W)%N.
Proof. exact: leq_bigmax. Qed.

Lemma abs_product_bound m n b qa (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) i j :
  within qa q -> (absz ((W *m q) i j) <= static_bound qa W)%N.
Proof.
move=> q_in; apply: (leq_trans (abs_product W i j q_in)).
by rewrite leq_mul2l row_norm_le orbT.
Qed.

Variable L : nat.
Hypothesis L_gt1 : (1 < L)%N.

(* The unmasked reply is W_D q if and only if every entry of W_D q is in the range of the lift. *)
Lemma unmask_iff m n b (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) :
  unmask (product W (mask q r)) (cancellation W r) = W *m q
    <-> forall i j, in_lift_range L ((W *m q) i j).
Proof.
rewrite /unmask /product /cancellation /mask unmask_ring -embed_mxM.
exact: lift_embed_mx.
Qed.

Lemma unmask_exact m n b qa (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) :
  (2 * static_bound qa W + 1 <= L)%N -> within qa q ->
  unmask (product W (mask q r)) (cancellation W r) = W *m q.
Proof.
move=> L_ge q_in; apply/unmask_iff => i j; apply: (in_lift_range_bound L_gt1 L_ge).
by rewrite -abszE lez_nat; apply: abs_product_bound.
Qed.

(* The bound is tight: for L <= 2 Bnd an admissible activation is unmasked wrongly. *)
Lemma unmask_tight m n qa (W : 'M[int]_(m, n)) :
  (L <= 2 * static_bound qa W)%N ->
  exists q : 'cV[int]_n, within qa q /\
    forall r : 'cV['Z_L]_n,
      unmask (product W (mask q r)) (cancellation W r) <> W *m q.
Proof.
move=> L_le; have m_gt0 : (0 < #|'I_m|)%N.
  rewrite lt0n; apply/eqP => m0; move: L_le; rewrite /static_bound /max_row_norm.
  by rewrite big_pred0 ?muln0 => [|i]; [lia|have := fintype0 i m0].
have [i max_i] := eq_bigmax (row_norm W) m_gt0.
exists (\col_j (Num.sg (W i j) * qa%:Z)); split=> [j k|r].
  by rewrite mxE abszM absz_sg; case: (_ != 0); rewrite ?mul1n ?mul0n.
move/unmask_iff => /(_ i 0); apply/negP.
have -> : (W *m \col_j (Num.sg (W i j) * qa%:Z)) i 0 = (static_bound qa W)%:Z.
  rewrite mxE /static_bound /max_row_norm max_i /row_norm big_distrr /=.
  rewrite (big_morph Posz PoszD (erefl _)); apply: eq_bigr => j _.
  by rewrite mxE PoszM mulrA mulrC; congr (_ * _); rewrite mulrC -abszEsg.
exact: in_lift_range_tight.
Qed.

End Unmasking.
