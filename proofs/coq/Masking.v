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

(* The least integer whose square is at least s. *)
Lemma root_exists (s : nat) : exists b : nat, (s <= b ^ 2)%N.
Proof. by exists s; rewrite expnS expn1; case: s => // s; rewrite leq_pmulr. Qed.
Definition root (s : nat) : nat := ex_minn (root_exists s).

(* The sum of squares of a row of W, and of a column of q. *)
Definition row_squares (m n : nat) (W : 'M[int]_(m, n)) (i : 'I_m) : nat :=
  (\sum_j absz (W i j) ^ 2)%N.
Definition column_squares (n b : nat) (q : 'M[int]_(n, b)) (c : 'I_b) : nat :=
  (\sum_j absz (q j c) ^ 2)%N.

(* Every column of quantised activations has a 2-norm of at most B_q. *)
Definition within (n b : nat) (B_q : nat) (q : 'M[int]_(n, b)) : Prop :=
  forall c, (column_squares q c <= B_q ^ 2)%N.

(* B_w of ENC-3, and ENC-4's bound B_w B_q. *)
Definition weight_norm (m n : nat) (W_D : 'M[int]_(m, n)) : nat :=
  (\max_i root (row_squares W_D i))%N.
Definition static_bound (m n : nat) (B_q : nat) (W_D : 'M[int]_(m, n)) : nat :=
  (B_q * weight_norm W_D)%N.

(* ENC-3: the longest activations that L and W_D allow, at most cap (32767). *)
Definition activation_norm (cap L m n : nat) (W_D : 'M[int]_(m, n)) : nat :=
  if weight_norm W_D == 0%N then cap else minn cap ((L.-1)./2 %/ weight_norm W_D).

(* max_i sum_j |W[i][j]|, and ENC-5's bound, B_q times that. *)
Definition row_sum (m n : nat) (W : 'M[int]_(m, n)) (i : 'I_m) : nat := (\sum_j absz (W i j))%N.
Definition word_bound (m n : nat) (B_q : nat) (W : 'M[int]_(m, n)) : nat :=
  (B_q * \max_i row_sum W i)%N.

Lemma rootP s b : (root s <= b)%N = (s <= b ^ 2)%N.
Proof.
rewrite /root; case: ex_minnP => r s_le least; apply/idP/idP => [r_le|/least //].
by apply: (leq_trans s_le); rewrite leq_exp2r.
Qed.

(* weight_norm is the least integer with these squares. *)
Lemma weight_norm_least m n (W : 'M[int]_(m, n)) (b : nat) :
  (weight_norm W <= b)%N <-> forall i, (row_squares W i <= b ^ 2)%N.
Proof.
by split=> [/bigmax_leqP le_b i|le_b]; [rewrite -rootP le_b|apply/bigmax_leqP => i _; rewrite rootP].
Qed.

Lemma activation_norm_bound cap L m n (W_D : 'M[int]_(m, n)) :
  (0 < L)%N -> (2 * static_bound (activation_norm cap L W_D) W_D + 1 <= L)%N.
Proof.
move=> L_gt0; rewrite /static_bound /activation_norm; case: eqP => [->|_]; first by lia.
set q := minn _ _; have le_q : (q * weight_norm W_D <= (L.-1)./2)%N.
  by apply: leq_trans (leq_trunc_div (L.-1)./2 (weight_norm W_D)); rewrite leq_mul2r geq_minr orbT.
by have := odd_double_half L.-1; rewrite -addnn; lia.
Qed.

(* Cauchy and Schwarz: in natural numbers, and of integers. *)
Lemma cauchy_schwarz_nat (I : Type) (s : seq I) (f g : I -> nat) :
  ((\sum_(j <- s) f j * g j) ^ 2 <= (\sum_(j <- s) f j ^ 2) * (\sum_(j <- s) g j ^ 2))%N.
Proof.
elim: s => [|j s IH]; rewrite ?big_nil // !big_cons.
move: (f j) (g j) (\sum_(j <- s) f j * g j)%N (\sum_(j <- s) f j ^ 2)%N (\sum_(j <- s) g j ^ 2)%N IH.
move=> a c S A C IH; have mixed : (2 * (a * c * S) <= a ^ 2 * C + A * c ^ 2)%N.
  rewrite -(@leq_exp2r _ _ 2) //; apply: leq_trans (nat_AGM2 _ _).
  have -> : ((2 * (a * c * S)) ^ 2 = 4 * ((a * c) ^ 2 * S ^ 2))%N by rewrite !expnMn.
  have -> : (a ^ 2 * C * (A * c ^ 2) = (a * c) ^ 2 * (A * C))%N.
    by rewrite expnMn; move: (a ^ 2)%N (c ^ 2)%N => x y; lia.
  by rewrite !leq_mul2l IH orbT.
have -> : ((a * c + S) ^ 2 = a ^ 2 * c ^ 2 + (2 * (a * c * S) + S ^ 2))%N.
  by rewrite sqrnD expnMn addnA addnAC addnA.
have -> : ((a ^ 2 + A) * (c ^ 2 + C) = a ^ 2 * c ^ 2 + (a ^ 2 * C + A * c ^ 2 + A * C))%N.
  by rewrite mulnDl !mulnDr !addnA.
by rewrite leq_add2l leq_add.
Qed.

Lemma abs_sum (I : Type) (s : seq I) (f g : I -> int) :
  (absz (\sum_(j <- s) f j * g j)%R <= \sum_(j <- s) absz (f j) * absz (g j))%N.
Proof.
elim: s => [|j s IH]; rewrite ?big_nil // !big_cons -abszM.
by move: (f j * g j) (\sum_(j <- s) f j * g j) (\sum_(j <- s) _)%N IH; lia.
Qed.

Lemma cauchy_schwarz (n : nat) (w q : 'I_n -> int) :
  (\sum_j w j * q j) ^+ 2 <= (\sum_j w j ^+ 2) * (\sum_j q j ^+ 2).
Proof.
have squares (f : 'I_n -> int) : \sum_j f j ^+ 2 = (\sum_j absz (f j) ^ 2)%N%:Z.
  rewrite (big_morph Posz PoszD (erefl _)); apply: eq_bigr => j _.
  by rewrite -abszX -[LHS]ger0_norm ?sqr_ge0 // abszE.
rewrite !squares -PoszM -[X in X <= _]ger0_norm ?sqr_ge0 // -abszE abszX lez_nat.
apply: leq_trans (cauchy_schwarz_nat _ _ _).
by rewrite leq_exp2r //; apply: abs_sum.
Qed.

Lemma within_entry n b B_q (q : 'M[int]_(n, b)) j c : within B_q q -> (absz (q j c) <= B_q)%N.
Proof.
move=> q_in; rewrite -(@leq_exp2r _ _ 2) //; apply: leq_trans (q_in c).
by rewrite /column_squares (bigD1 j) //= leq_addr.
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

Lemma abs_product_bound m n b B_q (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) i c :
  within B_q q -> (absz ((W *m q) i c) <= static_bound B_q W)%N.
Proof.
move=> q_in; rewrite mxE; apply: leq_trans (abs_sum _ _ _) _; rewrite -(@leq_exp2r _ _ 2) //.
apply: leq_trans (cauchy_schwarz_nat _ _ _) _; rewrite /static_bound expnMn mulnC leq_mul ?q_in //.
exact: (proj1 (weight_norm_least W _) (leqnn _)).
Qed.

(* ENC-5's bound is one on the partial sums too: on sums of magnitudes. *)
Lemma abs_word_bound m n b B_q (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) i c :
  within B_q q -> (absz ((W *m q) i c) <= word_bound B_q W)%N.
Proof.
move=> q_in; rewrite mxE; apply: leq_trans (abs_sum _ _ _) _.
apply: (@leq_trans (B_q * row_sum W i)).
  rewrite /row_sum big_distrr; apply: leq_sum => j _.
  by rewrite mulnC leq_mul2r within_entry ?orbT.
by rewrite leq_mul2l; apply/orP; right; apply: leq_bigmax.
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

Lemma unmask_exact m n b B_q (W : 'M[int]_(m, n)) (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) :
  (2 * static_bound B_q W + 1 <= L)%N -> within B_q q ->
  unmask (product W (mask q r)) (cancellation W r) = W *m q.
Proof.
move=> L_ge q_in; apply/unmask_iff => i j; apply: (in_lift_range_bound L_gt1 L_ge).
by rewrite -abszE lez_nat; apply: abs_product_bound.
Qed.

End Unmasking.
