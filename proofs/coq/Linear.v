(* Linear layers: the integer model W_int = 2^t W_D + A B, the group, and one exchange between
   Charlie and David. Chapters: linear, encoding, decomposition (DECO-1, DECO-7). *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* W_int = 2^t W_D + A B over Z. *)
Definition integer_model (t m n k : nat) (W_D : 'M[int]_(m, n)) (A : 'M[int]_(m, k))
    (B : 'M[int]_(k, n)) : 'M[int]_(m, n) :=
  2%:Z ^+ t *: W_D + A *m B.

(* Charlie's sum y_int = 2^t y_D + A (B q) over Z. *)
Definition charlie_sum (t m n k b : nat) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n))
    (y_D : 'M[int]_(m, b)) (q : 'M[int]_(n, b)) : 'M[int]_(m, b) :=
  2%:Z ^+ t *: y_D + A *m (B *m q).

(* The same sum in two's-complement words of w bits: every operand is reduced mod 2^w, every
   operation is that of Z_(2^w), so partial sums wrap; at the end the word is read as signed. *)
Definition charlie_sum_word (w t m n k b : nat) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n))
    (y_D : 'M[int]_(m, b)) (q : 'M[int]_(n, b)) : 'M[int]_(m, b) :=
  lift_mx (embed (2 ^ w) (2%:Z ^+ t) *: embed_mx (2 ^ w) y_D
           + embed_mx (2 ^ w) A *m (embed_mx (2 ^ w) B *m embed_mx (2 ^ w) q)).

(* One exchange with an honest David: mask, multiply, unmask, add Charlie's part. *)
Definition exchange (L t m n k b : nat) (W_D : 'M[int]_(m, n)) (A : 'M[int]_(m, k))
    (B : 'M[int]_(k, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) : 'M[int]_(m, b) :=
  charlie_sum t A B (unmask (product W_D (mask q r)) (cancellation W_D r)) q.

Section Theory.
Variables (t m n k b : nat).
Variables (W_D : 'M[int]_(m, n)) (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n)).
Notation W_int := (integer_model t W_D A B).

(* The part that Charlie keeps has rank at most k, over the rationals. *)
Lemma rank_low : (\rank (map_mx intr (A *m B) : 'M[rat]_(m, n)) <= k)%N.
Proof. by rewrite map_mxM /=; apply: (leq_trans (mxrankM_maxl _ _)); apply: rank_leq_col. Qed.

Lemma charlie_sum_model (q : 'M[int]_(n, b)) : charlie_sum t A B (W_D *m q) q = W_int *m q.
Proof. by rewrite /charlie_sum /integer_model mulmxDl -scalemxAl mulmxA. Qed.

(* One exchange, with an honest David, computes the integer model's product exactly. *)
Lemma layer_correct L B_q (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) :
  (1 < L)%N -> (2 * static_bound B_q W_D + 1 <= L)%N -> within B_q q ->
  exchange t W_D A B q r = W_int *m q.
Proof.
by move=> L_gt1 L_ge q_in; rewrite /exchange (unmask_exact L_gt1 r L_ge q_in) charlie_sum_model.
Qed.

Lemma word_sum_iff w (y_D : 'M[int]_(m, b)) (q : 'M[int]_(n, b)) :
  (0 < w)%N ->
  charlie_sum_word w t A B y_D q = charlie_sum t A B y_D q
    <-> forall i j, in_lift_range (2 ^ w) (charlie_sum t A B y_D q i j).
Proof.
move=> w_gt0; have w_gt1 : (1 < 2 ^ w)%N by rewrite -[1%N](expn0 2) ltn_exp2l.
by rewrite /charlie_sum_word -embed_mxZ -!embed_mxM -embed_mxD; apply: lift_embed_mx.
Qed.

Lemma word_sum_exact w B_q (q : 'M[int]_(n, b)) :
  (0 < w)%N -> (word_bound B_q W_int <= (2 ^ w.-1).-1)%N -> within B_q q ->
  charlie_sum_word w t A B (W_D *m q) q = W_int *m q.
Proof.
move=> w_gt0 bound q_in; rewrite -charlie_sum_model; apply/word_sum_iff => // i j.
have w_gt1 : (1 < 2 ^ w)%N by rewrite -[1%N](expn0 2) ltn_exp2l.
rewrite charlie_sum_model; apply: (@in_lift_range_bound _ w_gt1 (2 ^ w.-1).-1).
  have pow_gt0 : (0 < 2 ^ w.-1)%N by rewrite expn_gt0.
  by rewrite -[in (2 ^ w)%N](prednK w_gt0) expnS; lia.
by rewrite -abszE lez_nat; apply: leq_trans bound; apply: abs_word_bound.
Qed.

End Theory.

(* A group stacks the matrices that share an input: its product is the stack of the products, its
   cancellation the stack of the cancellations, and its bound the larger of the bounds. *)
Section Group.
Variables (L m1 m2 n b : nat) (W1 : 'M[int]_(m1, n)) (W2 : 'M[int]_(m2, n)).

Lemma product_stack (x : 'M['Z_L]_(n, b)) :
  product (col_mx W1 W2) x = col_mx (product W1 x) (product W2 x).
Proof. by rewrite /product /embed_mx map_col_mx mul_col_mx. Qed.

Lemma static_bound_stack B_q :
  static_bound B_q (col_mx W1 W2) = maxn (static_bound B_q W1) (static_bound B_q W2).
Proof.
rewrite /static_bound -maxnMr; congr (_ * _)%N; rewrite /weight_norm big_split_ord /=.
congr maxn; apply: eq_bigr => i _; congr root; apply: eq_bigr => j _.
  by rewrite col_mxEu.
by rewrite col_mxEd.
Qed.
End Group.
